# SPDX-License-Identifier: Apache-2.0
# What oracle, compare, ablate and the command link.
# Targets: Boost::headers, Boost::program_options, Boost::filesystem, spdlog::spdlog,
# nanhunt_blas (OpenBLAS with its C interface, cblas.h).

find_package(Boost 1.74 REQUIRED COMPONENTS program_options filesystem)
find_package(spdlog 1.10 REQUIRED)

find_path(NANHUNT_CBLAS_INCLUDE_DIR cblas.h REQUIRED
  PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread openblas-pthread openblas)
find_library(NANHUNT_OPENBLAS_LIBRARY openblas REQUIRED)
mark_as_advanced(NANHUNT_CBLAS_INCLUDE_DIR NANHUNT_OPENBLAS_LIBRARY)
add_library(nanhunt_blas UNKNOWN IMPORTED)
set_target_properties(nanhunt_blas PROPERTIES
  IMPORTED_LOCATION ${NANHUNT_OPENBLAS_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${NANHUNT_CBLAS_INCLUDE_DIR})

# What report builds its page of: a template library in one header, and a plot library in one file.
find_path(NANHUNT_MUSTACHE_INCLUDE_DIR kainjow/mustache.hpp REQUIRED)
find_file(NANHUNT_CHART_JS chart.min.js REQUIRED PATH_SUFFIXES share/javascript/chart.js
  javascript/chart.js PATHS /usr /usr/share /usr/local)
mark_as_advanced(NANHUNT_MUSTACHE_INCLUDE_DIR NANHUNT_CHART_JS)
add_library(nanhunt_mustache INTERFACE IMPORTED)
target_include_directories(nanhunt_mustache SYSTEM INTERFACE ${NANHUNT_MUSTACHE_INCLUDE_DIR})
