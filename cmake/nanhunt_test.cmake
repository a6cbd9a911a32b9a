# SPDX-License-Identifier: Apache-2.0
# nanhunt_test(NAME name SOURCES file... [LIBS target...] [LABELS unit|e2e|slow...]
#              [TIMEOUT seconds])
# A GoogleTest executable `name`; each TEST in it is one test of ctest, called name.Suite.Test.
# Labels: unit (default), e2e (runs programs), slow. Tests are listed when ctest starts, not when
# the program is built.

include(GoogleTest)

function(nanhunt_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "SOURCES;LIBS;LABELS")
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS} GTest::gmock GTest::gtest_main
    nanhunt_warnings nanhunt_numerics)
  target_compile_definitions(${arg_NAME} PRIVATE
    NANHUNT_SOURCE_DIR="${PROJECT_SOURCE_DIR}" NANHUNT_BUILD_DIR="${PROJECT_BINARY_DIR}")
  # CMake reads the list several times before it reaches ctest; each reading eats backslashes.
  list(JOIN arg_LABELS [[\\\\\\\\;]] labels)
  gtest_discover_tests(${arg_NAME} TEST_PREFIX ${arg_NAME}. DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${labels} TIMEOUT ${arg_TIMEOUT})
endfunction()
