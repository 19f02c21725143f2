# triptych_library(NAME SOURCES ... USES ...): one static library for one folder. USES lists the only
# libraries it may include headers of; arrows point down only (see docs/architecture.md).
function(triptych_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES" ${ARGN})
  add_library(triptych_${name} STATIC ${ARG_SOURCES})
  target_include_directories(triptych_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(triptych_${name} PRIVATE -Wall -Wextra -Wno-missing-field-initializers)
  if(TRIPTYCH_WERROR)
    target_compile_options(triptych_${name} PRIVATE -Werror)
  endif()
  foreach(used IN LISTS ARG_USES)
    target_link_libraries(triptych_${name} PUBLIC triptych_${used})
  endforeach()
endfunction()

# triptych_torch_library(NAME SOURCES ... USES ...): the same for a folder that includes torch headers. They are slow
# to compile, so all such folders share the one precompiled header of src/normalize/torch_pch.h.
function(triptych_torch_library name)
  triptych_library(${name} ${ARGN})
  target_link_libraries(triptych_${name} PUBLIC torch_cpp)
  target_precompile_headers(triptych_${name} REUSE_FROM triptych_torch_pch)
endfunction()
