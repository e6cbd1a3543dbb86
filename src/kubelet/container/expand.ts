import { configError } from "./config-error.ts";

/**
 * More than a process can be started with. Variables that name each other twice over would else grow without bound
 * (`B: $(A)$(A)`, `C: $(B)$(B)`, …).
 */
const maxBytes = 8 * 1_024 * 1_024;

type Expand = (text: string, lookUp: (name: string) => string | undefined) => string;

/**
 * Puts values for `$(NAME)`. `$$` is a plain `$`; what names nothing that is known stays as it is. All texts of a
 * container go through one such function: the limit is on their sum.
 */
export function createExpand(): Expand {
  let length = 0;

  function counted(text: string): string {
    length += text.length;
    if (length <= maxBytes) return text;
    throw configError(`variables that refer to each other grow beyond ${maxBytes} bytes: shorten them`);
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
