# Generates tables, views and builders from api/**/*.proto and builds the layer `api` from them.
find_program(PROTOC protoc REQUIRED)
find_library(PROTOC_LIBRARY protoc REQUIRED)

# The plugin, with our options compiled in.
set(options_dir ${CMAKE_BINARY_DIR}/options)
add_custom_command(
  OUTPUT ${options_dir}/api/schema.pb.cc ${options_dir}/api/schema.pb.h
  COMMAND ${CMAKE_COMMAND} -E make_directory ${options_dir}
  COMMAND ${PROTOC} -I${CMAKE_SOURCE_DIR} --cpp_out=${options_dir} api/schema.proto
  DEPENDS ${CMAKE_SOURCE_DIR}/api/schema.proto
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  COMMENT "Compiling the schema options")
file(GLOB plugin_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/protoc-gen-homeostat/*.cc)
add_executable(protoc-gen-homeostat ${plugin_sources} ${options_dir}/api/schema.pb.cc)
target_include_directories(protoc-gen-homeostat PRIVATE ${options_dir})
target_link_libraries(protoc-gen-homeostat PRIVATE ${PROTOC_LIBRARY} protobuf::libprotobuf Threads::Threads)

# Everything at once: the registry needs all files. Outputs that come out as before keep their time, so that a changed
# comment compiles one table again and nothing else.
file(GLOB api_protos CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/api/*/*.proto)
set(generated_sources ${GENERATED}/homeostat/api/registry.cc)
set(generated_headers)
foreach(proto ${api_protos})
  string(REGEX REPLACE "\\.proto$" "" base ${proto})
  list(APPEND generated_sources ${GENERATED}/homeostat/${base}.cc)
  list(APPEND generated_headers ${GENERATED}/homeostat/${base}.h ${GENERATED}/homeostat/${base}_builders.h)
endforeach()
list(TRANSFORM api_protos PREPEND ${CMAKE_SOURCE_DIR}/ OUTPUT_VARIABLE api_proto_paths)
add_custom_command(
  OUTPUT ${generated_sources} ${generated_headers}
  COMMAND ${CMAKE_COMMAND} -DPROTOC=${PROTOC} -DPLUGIN=$<TARGET_FILE:protoc-gen-homeostat> -DSOURCE=${CMAKE_SOURCE_DIR}
          -DSTAGING=${CMAKE_BINARY_DIR}/generated-new -DOUTPUT=${GENERATED} -P ${CMAKE_SOURCE_DIR}/api/generate.cmake
  DEPENDS protoc-gen-homeostat ${api_proto_paths} ${CMAKE_SOURCE_DIR}/api/schema.proto ${CMAKE_SOURCE_DIR}/api/generate.cmake
  COMMENT "Generating the API")
add_custom_target(homeostat_api_generated DEPENDS ${generated_sources} ${generated_headers})

homeostat_layer(api DEPS schema SOURCES ${generated_sources})
add_dependencies(homeostat_api homeostat_api_generated)
if(TARGET api_test)
  target_compile_definitions(api_test PRIVATE HOMEOSTAT_API_TESTDATA="${CMAKE_SOURCE_DIR}/api/testdata")
endif()
