# The tests of this layer take the built-in types as their data, and recorded answers from testdata.
if(TARGET patch_test)
  find_package(ZLIB REQUIRED)
  target_link_libraries(patch_test PRIVATE homeostat_api ZLIB::ZLIB)
  target_compile_definitions(patch_test PRIVATE HOMEOSTAT_PATCH_TESTDATA="${CMAKE_CURRENT_SOURCE_DIR}/patch/testdata")
endif()
