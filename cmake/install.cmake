# SPDX-License-Identifier: Apache-2.0
# Installs the program, the threshold file it reads, and trace and hooks as a package, so that a
# program outside this tree can say
#     find_package(nanhunt REQUIRED)
#     target_link_libraries(my_program PRIVATE nanhunt::hooks)

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(nanhunt_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nanhunt)

foreach(library nanhunt_trace nanhunt_capsule nanhunt_recorder nanhunt_hooks)
  if(TARGET ${library})
    install(TARGETS ${library} EXPORT nanhuntTargets)
  endif()
endforeach()
if(TARGET nanhunt_trace)
  install(EXPORT nanhuntTargets NAMESPACE nanhunt:: DESTINATION ${nanhunt_package_dir})
endif()
install(DIRECTORY trace capsule hooks DESTINATION include/nanhunt FILES_MATCHING PATTERN *.h)

configure_package_config_file(cmake/nanhuntConfig.cmake.in nanhuntConfig.cmake
  INSTALL_DESTINATION ${nanhunt_package_dir})
write_basic_package_version_file(nanhuntConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/nanhuntConfig.cmake
  ${PROJECT_BINARY_DIR}/nanhuntConfigVersion.cmake
  cmake/package_dependencies.cmake
  cmake/torch.cmake
  cmake/dependencies.txt
  DESTINATION ${nanhunt_package_dir})

if(TARGET nanhunt)
  install(TARGETS nanhunt)
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/share/nanhunt)
  install(DIRECTORY share/nanhunt DESTINATION share)
endif()
