import { badRequest } from "./status-error.ts";

export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

/** Requirements that must all hold. An empty selector matches everything. */
export type FieldSelector = readonly FieldRequirement[];

/** Parses `spec.nodeName=a,status.phase!=Running`. Throws a BadRequest with upstream's message. */
export function parseFieldSelector(text: string): FieldSelector {
  return splitTerms(text)
    .sort()
    .filter((term) => term !== "")
    .map((term) => {
      const parts = /^(.*?)(!=|==|=)(.*)$/s.exec(term);
      if (!parts) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
      const [, field = "", operator, value = ""] = parts;
      return {
        field,
        operator: operator === "!=" ? ("!=" as const) : ("=" as const),
        value: unescapeValue(value),
      };
    })
    .filter(({ field, value }) => field !== "" || value !== "");
}

/** Splits terms at commas that are not escaped by a backslash. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === ",") {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function unescapeValue(value: string): string {
  if (!/[\\,=]/.test(value)) return value;
  return value.replace(/\\(.?)|[,=]/gsu, (sequence, escaped?: string) => {
    if (escaped === undefined) {
      // Upstream prints the number of the character.
      const code = sequence.codePointAt(0);
      throw badRequest(`invalid field selector: unescaped character in value: ${code}`);
    }
    if (escaped === "" || !"\\,=".includes(escaped)) {
      throw badRequest(`invalid field selector: invalid escape sequence: ${sequence}`);
    }
    return escaped;
  });
}

export function formatFieldSelector(selector: FieldSelector): string {
  return selector
    .map(({ field, operator, value }) => `${field}${operator}${value.replace(/[\\,=]/g, "\\$&")}`)
    .join(",");
}

/** Whether the fields match. `read` returns the value of a field, or the empty string. */
export function matchesFields(selector: FieldSelector, read: (field: string) => string): boolean {
  for (const { field, operator, value } of selector) {
    if ((read(field) === value) !== (operator === "=")) return false;
  }
  return true;
}

/** The value that a field must have, if the selector requires exactly one. Used to index watches. */
export function requiredFieldValue(selector: FieldSelector, field: string): string | undefined {
  return selector.find((requirement) => requirement.field === field && requirement.operator === "=")?.value;
}
