# SPDX-License-Identifier: Apache-2.0
# nanhunt_embed(TARGET FUNCTION FILE): compiles the bytes of FILE into TARGET, as
# `std::string_view nanhunt::report::FUNCTION()` (declared in report/resources.h).
function(nanhunt_embed target function file)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/resource_${function}.cc)
  set(script ${PROJECT_SOURCE_DIR}/cmake/write_resource.cmake)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DFUNCTION=${function} -DINPUT=${file} -DOUTPUT=${source} -P ${script}
    DEPENDS ${file} ${script}
    VERBATIM)
  target_sources(${target} PRIVATE ${source})
endfunction()
