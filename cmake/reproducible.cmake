# Two builds of the same sources in different directories give identical files: libraries find each
# other relative to themselves, and archives have no times and no users. The default build has no
# debugging information, which would name the directory; docs/install.md says how to map it.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
if(CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang)$")
  set(CMAKE_C_ARCHIVE_CREATE "<CMAKE_AR> qcD <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_C_ARCHIVE_APPEND "<CMAKE_AR> qD <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_C_ARCHIVE_FINISH "<CMAKE_RANLIB> -D <TARGET>")
endif()
