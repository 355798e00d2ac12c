# SPDX-License-Identifier: Apache-2.0
# Files inside a program, as src/http/files.h wants them: their bytes, the same packed, and a table.

find_program(PD_GZIP gzip REQUIRED)

# pd_file_table(NAME SYMBOL FOLDER FILE ...): a library with `const struct pd_file SYMBOL[]` of
# these files of FOLDER
function(pd_file_table name symbol folder)
    set(at "${CMAKE_CURRENT_BINARY_DIR}/${name}")
    set(bytes "")
    set(declared "")
    set(rows "")
    set(needed "")
    set(number 0)
    foreach(file ${ARGN})
        set(packed "${at}/${file}.gz")
        get_filename_component(packed_folder "${packed}" DIRECTORY)
        file(MAKE_DIRECTORY "${packed_folder}")
        add_custom_command(OUTPUT "${packed}"
            COMMAND sh -c "'${PD_GZIP}' -9nc '${folder}/${file}' > '${packed}'"
            DEPENDS "${folder}/${file}" VERBATIM)
        list(APPEND needed "${folder}/${file}" "${packed}")
        set(label "${symbol}_${number}")
        string(APPEND bytes
            "        \"${label}: .incbin \\\"${folder}/${file}\\\"\\n"
            "${label}_packed: .incbin \\\"${packed}\\\"\\n${label}_end:\\n\"\n")
        string(APPEND declared "extern const char ${label}[], ${label}_packed[], ${label}_end[];\n")
        string(APPEND rows
            "    {\"${file}\", ${label}, ${label}_packed, ${label}_packed, ${label}_end},\n")
        math(EXPR number "${number} + 1")
    endforeach()
    set(source "${at}/table.c")
    string(CONCAT content
        "#include \"http/files.h\"\n"
        "${declared}extern const struct pd_file ${symbol}[];\n"
        "__asm__(\".pushsection .rodata\\n\"\n${bytes}        \".popsection\\n\");\n"
        "const struct pd_file ${symbol}[] = {\n${rows}    {0},\n};\n")
    file(CONFIGURE OUTPUT "${source}" CONTENT "${content}" @ONLY)
    set_source_files_properties("${source}" PROPERTIES OBJECT_DEPENDS "${needed}")
    pd_library(${name} SOURCES "${source}" DEPENDS pd_http)
endfunction()
