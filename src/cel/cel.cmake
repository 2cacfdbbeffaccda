# The tests of this layer take the public conformance cases from testdata.
if(TARGET cel_test)
  target_compile_definitions(cel_test PRIVATE HOMEOSTAT_CEL_TESTDATA="${CMAKE_CURRENT_SOURCE_DIR}/cel/testdata")
endif()
