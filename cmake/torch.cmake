# SPDX-License-Identifier: Apache-2.0
# The imported target nanhunt_torch: LibTorch's CPU libraries, linked by hand.
#
# find_package(Torch) of a CUDA wheel needs a CUDA toolkit, and its `torch` target pulls in every
# CUDA library. libtorch_cpu.so and libc10.so are all that a CPU program needs.
#
# NANHUNT_TORCH (cache or environment) names the torch package folder, the one that holds include/
# and lib/. Default: the per-user cache that ./dev fills.

if(TARGET nanhunt_torch)
  return()
endif()

if(NOT DEFINED NANHUNT_TORCH AND DEFINED ENV{NANHUNT_TORCH})
  set(NANHUNT_TORCH $ENV{NANHUNT_TORCH})
endif()
if(NOT NANHUNT_TORCH)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/dependencies.txt nanhunt_torch_pin REGEX "^wheel torch ")
  string(REGEX REPLACE "^wheel torch " "" nanhunt_torch_pin "${nanhunt_torch_pin}")
  if(DEFINED ENV{XDG_CACHE_HOME})
    set(nanhunt_cache $ENV{XDG_CACHE_HOME})
  else()
    set(nanhunt_cache $ENV{HOME}/.cache)
  endif()
  set(NANHUNT_TORCH ${nanhunt_cache}/nanhunt/torch-${nanhunt_torch_pin}/torch)
endif()
set(NANHUNT_TORCH ${NANHUNT_TORCH} CACHE PATH "Torch package folder (holds include/ and lib/)")

foreach(needed lib/libtorch_cpu.so lib/libc10.so include/ATen/core/Tensor.h)
  if(NOT EXISTS ${NANHUNT_TORCH}/${needed})
    message(FATAL_ERROR "No LibTorch: ${NANHUNT_TORCH}/${needed} does not exist. Run ./dev build, "
      "or name a torch package folder with NANHUNT_TORCH, or set NANHUNT_WITH_TORCH=OFF.")
  endif()
endforeach()

add_library(nanhunt_torch INTERFACE IMPORTED GLOBAL)
set_target_properties(nanhunt_torch PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES
    "${NANHUNT_TORCH}/include;${NANHUNT_TORCH}/include/torch/csrc/api/include"
  # NDEBUG in every kind of build: at::RecordFunction has a member under `#ifndef NDEBUG`, so
  # without it the layout differs from that of the prebuilt library.
  INTERFACE_COMPILE_DEFINITIONS "NDEBUG;_GLIBCXX_USE_CXX11_ABI=1"
  INTERFACE_LINK_LIBRARIES "${NANHUNT_TORCH}/lib/libtorch_cpu.so;${NANHUNT_TORCH}/lib/libc10.so"
  # Old dtags: the rpath then also serves the libraries' own dependencies.
  INTERFACE_LINK_OPTIONS "LINKER:--disable-new-dtags")

# libtorch_cpu.so wants libcudart and libcupti even on a CPU. In a wheel its own rpath finds them
# in the sibling folder nvidia/; a linker that resolves them at link time must be told.
cmake_path(GET NANHUNT_TORCH PARENT_PATH nanhunt_site_packages)
file(GLOB nanhunt_nvidia_folders ${nanhunt_site_packages}/nvidia/*/lib)
foreach(folder ${nanhunt_nvidia_folders})
  set_property(TARGET nanhunt_torch APPEND PROPERTY INTERFACE_LINK_OPTIONS
    "LINKER:-rpath-link,${folder}")
endforeach()
