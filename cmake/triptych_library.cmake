# triptych_library(NAME SOURCES ... USES ...): one static library for one folder. USES lists the only
# libraries it may include headers of; arrows point down only (see docs/architecture.md).
function(triptych_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;USES" ${ARGN})
  foreach(source IN LISTS ARG_SOURCES)
    get_source_file_property(generated ${source} GENERATED)
    if(NOT generated AND NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${source})
      message(FATAL_ERROR "${name}: ${source} is listed but does not exist")
    endif()
  endforeach()
  add_library(triptych_${name} STATIC ${ARG_SOURCES})
  target_include_directories(triptych_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  # -Wrestrict: g++ 12 warns about `"text" + std::string` (its bug 105651).
  target_compile_options(triptych_${name} PRIVATE -Wall -Wextra -Wno-missing-field-initializers -Wno-restrict)
  if(TRIPTYCH_WERROR)
    # -Wmaybe-uninitialized: g++ 12 is wrong about small vectors of torch's.
    target_compile_options(triptych_${name} PRIVATE -Werror -Wno-error=maybe-uninitialized)
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
