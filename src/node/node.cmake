# The container runtime interface: messages and stubs made from the node layer's own .proto files.
find_package(gRPC REQUIRED)
set(CRI_SOURCES)
foreach(proto cri cri_types)
  add_custom_command(
    OUTPUT ${GENERATED}/node/${proto}.pb.cc ${GENERATED}/node/${proto}.pb.h
           ${GENERATED}/node/${proto}.grpc.pb.cc ${GENERATED}/node/${proto}.grpc.pb.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${GENERATED}/node
    COMMAND protobuf::protoc -I${CMAKE_CURRENT_SOURCE_DIR} --cpp_out=${GENERATED} --grpc_out=${GENERATED}
            --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin> ${CMAKE_CURRENT_SOURCE_DIR}/node/${proto}.proto
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/node/cri.proto ${CMAKE_CURRENT_SOURCE_DIR}/node/cri_types.proto
    VERBATIM)
endforeach()
list(APPEND CRI_SOURCES ${GENERATED}/node/cri.pb.cc ${GENERATED}/node/cri_types.pb.cc ${GENERATED}/node/cri.grpc.pb.cc)

# The program that holds a pod's namespaces, built without a C library and carried by the node agent.
set(PAUSE_BINARY ${CMAKE_BINARY_DIR}/pause)
add_custom_command(
  OUTPUT ${PAUSE_BINARY}
  COMMAND ${CMAKE_C_COMPILER} -Os -s -static -nostdlib -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables
          -Wl,--build-id=none -o ${PAUSE_BINARY} ${CMAKE_SOURCE_DIR}/images/pause/pause.c
  DEPENDS ${CMAKE_SOURCE_DIR}/images/pause/pause.c VERBATIM)
add_custom_target(pause-binary DEPENDS ${PAUSE_BINARY})
set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/node/pause_image.cc PROPERTIES
  COMPILE_DEFINITIONS "PAUSE_BINARY=\"${PAUSE_BINARY}\"" OBJECT_DEPENDS ${PAUSE_BINARY})
