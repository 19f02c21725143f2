# Torch of the Python that builds us: include folders, libraries, its minor version. TorchConfig.cmake is not
# used: it drags in CUDA and compiler flags that a narrow extension does not need.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(
  COMMAND ${Python_EXECUTABLE} -c "import importlib.util as u, os; print(os.path.dirname(u.find_spec('torch').origin), end='')"
  OUTPUT_VARIABLE TORCH_ROOT RESULT_VARIABLE torch_missing)
if(torch_missing OR NOT TORCH_ROOT)
  message(FATAL_ERROR "torch was not found by ${Python_EXECUTABLE}: install torch 2.11 to 2.14 first, "
                      "and build with `pip install --no-build-isolation .`")
endif()
file(STRINGS ${TORCH_ROOT}/version.py torch_version_line REGEX "^__version__")
string(REGEX MATCH "[0-9]+\\.[0-9]+" TORCH_MINOR "${torch_version_line}")

add_library(torch_cpp INTERFACE)
target_include_directories(torch_cpp SYSTEM INTERFACE
  ${TORCH_ROOT}/include ${TORCH_ROOT}/include/torch/csrc/api/include)
target_compile_options(torch_cpp INTERFACE -fopenmp)
target_compile_definitions(torch_cpp INTERFACE TRIPTYCH_TORCH_MINOR="${TORCH_MINOR}")
target_link_directories(torch_cpp INTERFACE ${TORCH_ROOT}/lib)
target_link_libraries(torch_cpp INTERFACE c10 torch_cpu torch)

add_library(torch_python_cpp INTERFACE)
target_link_libraries(torch_python_cpp INTERFACE torch_cpp torch_python Python::Module)

# The package reads this before it loads the extension module.
set(build_info ${PROJECT_SOURCE_DIR}/python/triptych/_build_info.py)
if(SKBUILD)
  set(build_info ${CMAKE_CURRENT_BINARY_DIR}/_build_info.py)
  install(FILES ${build_info} DESTINATION triptych)
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/build_info.py.in ${build_info} @ONLY)
