# SPDX-License-Identifier: Apache-2.0
# Run by the build: writes the CSV files of FOLDER into the header OUT as strings, so that the
# program needs no files beside it.

string(CONCAT text
    "/* Made from src/sim/sizes/ by embed.cmake. */\n"
    "static const struct {\n    const char *name, *text;\n} sim_sizes[] = {\n")
file(GLOB files "${FOLDER}/*.csv")
list(SORT files)
foreach(file IN LISTS files)
    get_filename_component(name "${file}" NAME_WE)
    file(STRINGS "${file}" lines)
    string(APPEND text "    {\"${name}\",\n")
    foreach(line IN LISTS lines)
        string(REPLACE "\"" "\\\"" line "${line}")
        string(APPEND text "     \"${line}\\n\"\n")
    endforeach()
    string(APPEND text "    },\n")
endforeach()
string(APPEND text "    {0, 0},\n};\n")
file(WRITE "${OUT}" "${text}")
