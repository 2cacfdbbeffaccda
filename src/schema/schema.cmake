# The tests of this layer take the built-in types as their data, and recorded objects from testdata.
if(TARGET schema_test)
  find_package(ZLIB REQUIRED)
  target_link_libraries(schema_test PRIVATE homeostat_api ZLIB::ZLIB)
  target_compile_definitions(schema_test PRIVATE HOMEOSTAT_SCHEMA_TESTDATA="${CMAKE_CURRENT_SOURCE_DIR}/schema/testdata")
endif()
