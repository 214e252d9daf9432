# besom_add_test(name [TIMEOUT seconds] COMMAND ...)
# The only way to add a test, so that every one has a label and a timeout: "long" if its name ends in _long,
# else "quick".
function(besom_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND")
  if(name MATCHES "_long$")
    set(label long)
    set(timeout 3600)
  else()
    set(label quick)
    set(timeout 300)
  endif()
  if(arg_TIMEOUT)
    set(timeout ${arg_TIMEOUT})
  endif()
  set(name ${BESOM_TEST_PREFIX}${name})
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  # An allocation that is too large must be NULL under a sanitizer, as it is without.
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout} ENVIRONMENT
                       "ASAN_OPTIONS=allocator_may_return_null=1;UBSAN_OPTIONS=print_stacktrace=1")
endfunction()
