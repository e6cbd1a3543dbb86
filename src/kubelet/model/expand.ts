import { configError } from "./start-error.ts";

/**
 * Limit above what a process can be started with. Without it, variables that refer to each other repeatedly would grow
 * without bound (`B: $(A)$(A)`, `C: $(B)$(B)`, …).
 */
const maxBytes = 8 * 1_024 * 1_024;

type Expand = (text: string, lookUp: (name: string) => string | undefined) => string;

/**
 * Creates a function that replaces `$(NAME)` with values. `$$` is an escaped `$`; unknown names stay as they are. One
 * function is used for all strings of a container, because the limit applies to their sum.
 */
export function createExpand(): Expand {
  let length = 0;

  function counted(text: string): string {
    length += text.length;
    if (length <= maxBytes) return text;
    throw configError(
      `expanded variables exceed ${maxBytes} bytes: shorten the variables that refer to each other`,
    );
  }

  return (text, lookUp) => {
    const lastCloser = text.lastIndexOf(")");
    let expanded = "";
    let done = 0;
    for (let at = text.indexOf("$"); at >= 0; at = text.indexOf("$", done)) {
      expanded += text.slice(done, at);
      const next = text[at + 1];
      done = at + 2;
      if (next === "$") expanded += "$";
      else if (next === "(" && at < lastCloser) {
        const closer = text.indexOf(")", at);
        const name = text.slice(at + 2, closer);
        expanded += counted(lookUp(name) ?? `$(${name})`);
        done = closer + 1;
      } else expanded += text.slice(at, done);
    }
    return expanded + text.slice(done);
  };
}
