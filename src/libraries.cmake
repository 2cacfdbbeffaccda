# Debian's libraries as their static archives, where it has some: the program then loads in a few milliseconds instead of
# twenty, and of a library only the part that is used takes memory.
set(OPENSSL_USE_STATIC_LIBS TRUE)
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Protobuf REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
# Wanted by unit tests alone: the program is built without it. scripts/build.sh looks again until it is there.
find_package(GTest QUIET)
if(NOT TARGET GTest::gtest)
  message(STATUS "GoogleTest is not installed: no unit tests")
endif()

# homeostat_library(NAME ARCHIVE... [NEEDS library...]): homeostat_lib_NAME stands for archives that may need each other,
# and what they need besides.
function(homeostat_library name)
  cmake_parse_arguments(ARG "" "" "NEEDS" ${ARGN})
  set(paths)
  foreach(archive ${ARG_UNPARSED_ARGUMENTS})
    find_library(HOMEOSTAT_ARCHIVE_${archive} lib${archive}.a REQUIRED)
    list(APPEND paths ${HOMEOSTAT_ARCHIVE_${archive}})
  endforeach()
  list(JOIN paths "," joined)
  add_library(homeostat_lib_${name} INTERFACE)
  target_link_libraries(homeostat_lib_${name} INTERFACE $<LINK_GROUP:RESCAN,${joined}> ${ARG_NEEDS})
endfunction()

find_library(HOMEOSTAT_ABSEIL libabsl_base.a REQUIRED)
get_filename_component(abseil_folder ${HOMEOSTAT_ABSEIL} DIRECTORY)
file(GLOB abseil_archives ${abseil_folder}/libabsl_*.a)
list(TRANSFORM abseil_archives REPLACE ".*/lib(.*)\\.a$" "\\1")
homeostat_library(abseil ${abseil_archives} NEEDS Threads::Threads)
homeostat_library(rocksdb rocksdb snappy lz4 zstd bz2 z NEEDS Threads::Threads dl)
homeostat_library(re2 re2 NEEDS Threads::Threads)
homeostat_library(nghttp2 nghttp2)
homeostat_library(yaml yaml)
homeostat_library(z z)
homeostat_library(xxhash xxhash)
homeostat_library(jemalloc jemalloc NEEDS Threads::Threads dl m)
homeostat_library(protobuf protobuf NEEDS Threads::Threads)
homeostat_library(grpc grpc++ grpc gpr upb address_sorting cares z
  NEEDS homeostat_lib_protobuf homeostat_lib_re2 homeostat_lib_abseil OpenSSL::SSL OpenSSL::Crypto)
