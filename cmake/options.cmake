# SPDX-License-Identifier: Apache-2.0
# Build options and the two interface targets that every nanhunt target links.

option(NANHUNT_WITH_TORCH "Build what needs LibTorch: hooks for LibTorch programs and the cases" ON)
option(NANHUNT_BUILD_ANALYSIS "Build oracle, compare, ablate, report and the command" ON)
option(NANHUNT_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(NANHUNT_BUILD_BENCH "Build the benchmarks" OFF)
option(NANHUNT_WERROR "Turn warnings into errors" OFF)
set(NANHUNT_SANITIZE "" CACHE STRING "Instrument everything: address, thread or nothing")
set_property(CACHE NANHUNT_SANITIZE PROPERTY STRINGS "" address thread)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # hooks may end up in a shared library of the user

add_library(nanhunt_warnings INTERFACE)
# GCC 12 warns of overlapping copies inside std::string where there are none (GCC bug 105651).
target_compile_options(nanhunt_warnings INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
  -Wno-restrict
  $<$<BOOL:${NANHUNT_WERROR}>:-Werror>)

# Contraction of a*b+c to a fused multiply-add rounds once instead of twice. Which expressions are
# contracted depends on the instruction set, so portable and vector versions of one formula, or
# two machines, would disagree in the last bit.
add_library(nanhunt_numerics INTERFACE)
target_compile_options(nanhunt_numerics INTERFACE -ffp-contract=off)

# A sanitizer must see every object of a program, so this one is set for the whole tree.
if(NANHUNT_SANITIZE STREQUAL "address")
  # Instrumented code of <regex> makes GCC 12 warn of values that are set (GCC bug 105562).
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined
    -fno-omit-frame-pointer -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=address,undefined)
elseif(NANHUNT_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(NANHUNT_SANITIZE)
  message(FATAL_ERROR "NANHUNT_SANITIZE is '${NANHUNT_SANITIZE}'; it may be address, thread or "
    "empty")
endif()

find_program(NANHUNT_CCACHE ccache)
if(NANHUNT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${NANHUNT_CCACHE})
endif()
find_program(NANHUNT_MOLD mold)
if(NANHUNT_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
