/** Our own, as that of the library needs the package bash-completion, and runs what stands between `$(` and `)` in a name. */

/** The script that completes a command in bash, 3.2 and newer. */
export const bashCompletion = (name: string): string => `# bash completion for ${name}
_${name}() {
  local piece line last before isOpen= quote= directive=0 words=()
  for piece in "\${COMP_WORDS[@]:1:COMP_CWORD}"; do
    # Bash takes what has a colon or an equals sign for several words.
    if [[ \${#words[@]} -gt 0 && ( $isOpen || $piece == [:=]* ) ]]; then
      words[\${#words[@]}-1]+=$piece
    else
      words+=("$piece")
    fi
    [[ $piece == [:=] ]] && isOpen=1 || isOpen=
  done
  last=$((\${#words[@]} - 1))
  piece=\${COMP_WORDS[COMP_CWORD]}
  # What comes behind these is a word that is still empty.
  [[ $piece != [:=]* ]] || piece=
  [[ $piece != [\\'\\"]* ]] || quote=\${piece:0:1}
  before=\${words[last]%"$piece"}
  words[last]=\${words[last]//[\\\\\\'\\"]/}
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line =~ ^:[0-9]+$ ]]; then
      directive=\${line#:}
    else
      line=\${line%%$'\\t'*}
      line=\${line#"$before"}
      # A name neither ends the quotes that it stands in nor is run.
      case $quote in
        \\') line=\${line//\\'/\\'\\\\\\'\\'} ;;
        \\")
          line=\${line//\\\\/\\\\\\\\}
          line=\${line//\\"/\\\\\\"}
          line=\${line//\\$/\\\\\\$}
          line=\${line//\\\`/\\\\\\\`}
          ;;
        *) printf -v line %q "$line" ;;
      esac
      # Bash takes a quote at the end of a name for the one that closes it.
      [[ ! $quote || $line != *"$quote" ]] || line+=$quote
      COMPREPLY+=("$line")
    fi
  done < <("$1" complete -- "\${words[@]}" 2>/dev/null)
  if ((directive == 0)); then compopt -o default 2>/dev/null; fi
}
complete -F _${name} ${name}`
