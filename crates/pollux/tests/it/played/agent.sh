# An agent of a few lines that speaks ACP. What it does with a prompt, the prompt says: `ask` for leave, be `slow`, `deaf` to all that is said next, or nothing.
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
speak() { say '"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}}'; }
end() { say "\"id\":$1,\"result\":{\"stopReason\":\"$2\"}"; }
ask='"id":77,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c","kind":"execute","title":"ls"},'
ask=$ask'"options":[{"optionId":"yes","name":"Allow","kind":"allow_once"},{"optionId":"no","name":"Reject","kind":"reject_once"}]}'
modes='"modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"code","name":"Code"},{"id":"acceptEdits","name":"Edit"}]}'

while read -r line; do
  id=${line#*\"id\":}
  id=${id%%,*}
  case $line in
    *'"method":"initialize"'*) say "\"id\":$id,\"result\":{\"protocolVersion\":1}" ;;
    *'"method":"session/new"'*)
      # In one directory it has modes, two of them its own.
      case $line in
        *'"cwd":"/tmp"'*) say "\"id\":$id,\"result\":{\"sessionId\":\"s\",$modes}" ;;
        *) say "\"id\":$id,\"result\":{\"sessionId\":\"s\"}" ;;
      esac ;;
    *'"method":"session/set_mode"'*)
      mode=${line#*\"modeId\":\"}
      mode=${mode%%\"*}
      # Of one of them it tells by itself.
      [ "$mode" != code ] || say '"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"current_mode_update","currentModeId":"code"}}'
      say "\"id\":$id,\"result\":{}" ;;
    *'"method":"session/prompt"'*)
      prompt=$id
      case $line in
        *'"text":"ask'*) say "$ask" ;;
        *'"text":"deaf'*) deaf=yes; : > begun ;;
        *'"text":"slow'*) (sleep 1; speak 'At last.'; end "$prompt" end_turn) & ;;
        *) speak 'Heard.'; end "$prompt" end_turn ;;
      esac ;;
    *'"optionId":"yes"'*) speak 'It ran.'; end "$prompt" end_turn ;;
    *'"optionId":"no"'*) speak 'Very well.'; end "$prompt" end_turn ;;
    *'"method":"session/cancel"'*) [ -n "$deaf" ] || end "$prompt" cancelled ;;
  esac
done
