# SPDX-License-Identifier: Apache-2.0
# nanhunt_library and nanhunt_program: a folder's target with the project's settings.

# nanhunt_library(NAME SOURCES file... [PUBLIC target...] [PRIVATE target...])
# A static library. For NAME nanhunt_x there is an alias nanhunt::x.
function(nanhunt_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(${name} STATIC ${arg_SOURCES})
  string(REGEX REPLACE "^nanhunt_" "" short_name ${name})
  add_library(nanhunt::${short_name} ALIAS ${name})
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${short_name})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:include/nanhunt>)
  target_link_libraries(${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE}
    $<BUILD_INTERFACE:nanhunt_warnings> $<BUILD_INTERFACE:nanhunt_numerics>)
endfunction()

# nanhunt_program(NAME SOURCES file... LIBS target... [OUTPUT_NAME name])
function(nanhunt_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT_NAME" "SOURCES;LIBS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} nanhunt_warnings nanhunt_numerics)
  if(arg_OUTPUT_NAME)
    set_target_properties(${name} PROPERTIES OUTPUT_NAME ${arg_OUTPUT_NAME})
  endif()
endfunction()
