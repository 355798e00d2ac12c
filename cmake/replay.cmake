# SPDX-License-Identifier: Apache-2.0
# Run by ctest: gives each file of a fuzz target's corpus to the target once. A target without a
# corpus gets the empty input.

if(IS_DIRECTORY "${CORPUS}")
    set(input -runs=0 "${CORPUS}")
else()
    set(input -runs=1)
endif()
execute_process(COMMAND "${TARGET}" ${input} RESULT_VARIABLE result ERROR_VARIABLE output
    OUTPUT_VARIABLE output)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${TARGET}: ${result}\n${output}")
endif()
