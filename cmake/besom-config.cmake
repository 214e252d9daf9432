# find_package(besom [COMPONENTS lmdb rocksdb redis sqlite]) defines besom::besom (shared, if it was
# built) and besom::besom_static, and for every component that is installed besom::besom_lmdb,
# besom::besom_lmdb_static and so on. The extension for SQLite is besom::besom_sqlite_static.
include("${CMAKE_CURRENT_LIST_DIR}/besom-targets.cmake")
if(NOT TARGET besom::besom)
  add_library(besom::besom ALIAS besom::besom_static)
endif()
foreach(component lmdb rocksdb redis sqlite)
  include("${CMAKE_CURRENT_LIST_DIR}/besom-${component}-targets.cmake" OPTIONAL
          RESULT_VARIABLE besom_${component}_FOUND)
  if(besom_${component}_FOUND)
    set(besom_${component}_FOUND TRUE)
    if(NOT component STREQUAL "sqlite" AND NOT TARGET besom::besom_${component})
      add_library(besom::besom_${component} ALIAS besom::besom_${component}_static)
    endif()
  endif()
endforeach()
foreach(component IN LISTS besom_FIND_COMPONENTS)
  if(besom_FIND_REQUIRED_${component} AND NOT besom_${component}_FOUND)
    set(besom_FOUND FALSE)
    set(besom_NOT_FOUND_MESSAGE "besom is installed without ${component} (libbesom-${component})")
  endif()
endforeach()
