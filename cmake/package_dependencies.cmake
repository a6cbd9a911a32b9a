# SPDX-License-Identifier: Apache-2.0
# What trace and hooks link. Shared by the build and by the installed package.
# Targets: hdf5::hdf5 (serial C library), nlohmann_json::nlohmann_json, xxHash::xxhash,
# Threads::Threads.

find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)

# FindHDF5 would link all that HDF5 itself links (curl, crypto, ...); we call HDF5 alone.
if(NOT TARGET hdf5::hdf5)
  find_path(NANHUNT_HDF5_INCLUDE_DIR hdf5.h REQUIRED PATH_SUFFIXES hdf5/serial)
  find_library(NANHUNT_HDF5_LIBRARY hdf5 REQUIRED PATH_SUFFIXES hdf5/serial)
  mark_as_advanced(NANHUNT_HDF5_INCLUDE_DIR NANHUNT_HDF5_LIBRARY)
  add_library(hdf5::hdf5 UNKNOWN IMPORTED)
  set_target_properties(hdf5::hdf5 PROPERTIES
    IMPORTED_LOCATION ${NANHUNT_HDF5_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${NANHUNT_HDF5_INCLUDE_DIR})
endif()

if(NOT TARGET xxHash::xxhash)
  find_path(NANHUNT_XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
  find_library(NANHUNT_XXHASH_LIBRARY xxhash REQUIRED)
  mark_as_advanced(NANHUNT_XXHASH_INCLUDE_DIR NANHUNT_XXHASH_LIBRARY)
  add_library(xxHash::xxhash UNKNOWN IMPORTED)
  set_target_properties(xxHash::xxhash PROPERTIES
    IMPORTED_LOCATION ${NANHUNT_XXHASH_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${NANHUNT_XXHASH_INCLUDE_DIR})
endif()
