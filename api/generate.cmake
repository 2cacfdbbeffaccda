# Runs protoc with the plugin into STAGING and copies what came out differently to OUTPUT.
file(GLOB protos RELATIVE ${SOURCE} ${SOURCE}/api/*/*.proto)
file(REMOVE_RECURSE ${STAGING})
file(MAKE_DIRECTORY ${STAGING})
execute_process(
  COMMAND ${PROTOC} -I${SOURCE} --plugin=protoc-gen-homeostat=${PLUGIN} --homeostat_out=${STAGING} ${protos}
  WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "generating the API failed")
endif()
file(GLOB_RECURSE outputs RELATIVE ${STAGING} ${STAGING}/*)
foreach(output ${outputs})
  get_filename_component(folder ${OUTPUT}/${output} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(COPY_FILE ${STAGING}/${output} ${OUTPUT}/${output} ONLY_IF_DIFFERENT)
endforeach()
