# An MCP server for properties that start hundreds: a shell takes a millisecond to start.
# FOLDER gets `starts` (the process of each start), `methods` (a line for each message) and
# `environment` (of the last start). The starts numbered in FAILING fail; a call of the tool `echo`
# leaves CHILDREN processes, which it answers with.
echo "$$" >> "$FOLDER/starts"
env -0 > "$FOLDER/environment"
case " $FAILING " in *" $(wc -l < "$FOLDER/starts") "*) exit 1 ;; esac
answer() {
    id=${line#*\"id\":}
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "${id%%[,\}]*}" "$1"
}
while read -r line; do
    method=${line#*\"method\":\"}
    echo "${method%%\"*}" >> "$FOLDER/methods"
    case $line in
    *'"method":"server/discover"'*)
        answer '{}' ;;
    *'"method":"initialize"'*)
        answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"small","version":"1"}}' ;;
    *'"method":"tools/list"'*)
        answer '{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}' ;;
    *'"method":"tools/call"'*)
        children=
        for _ in $CHILDREN; do sleep 1000 & children="$children $!"; done
        answer "{\"content\":[{\"type\":\"text\",\"text\":\"pids$children\"}]}" ;;
    esac
done
