import { qualifiedNameProblems } from "./names.ts";
import {
  byKey,
  type LabelOperator,
  type LabelRequirement,
  type LabelSelector,
  requirementProblem,
} from "./selector.ts";
import { badRequest } from "./status-error.ts";

/**
 * Parses `a=b,c in (x,y),!d`. Throws a BadRequest with upstream's message.
 *
 *     selector    = [ requirement { "," requirement } ]
 *     requirement = [ "!" ] KEY [ ( "=" | "==" | "!=" | ">" | "<" ) [ VALUE ] | ( "in" | "notin" ) set ]
 *     set         = "(" [ VALUE ] { "," [ VALUE ] } ")"
 */
export function parseLabelSelector(text: string): LabelSelector {
  const tokens = scan(text);
  const selector: LabelRequirement[] = [];
  while (tokens.peek().kind !== "end") {
    if (!startsRequirement(tokens.peek())) {
      throw badRequest(`found '${tokens.peek().text}', expected: !, identifier, or 'end of string'`);
    }
    selector.push(parseRequirement(tokens));
    const separator = tokens.next();
    if (separator.kind === "end") break;
    if (separator.text !== ",") {
      throw badRequest(`found '${separator.text}', expected: ',' or 'end of string'`);
    }
    if (!startsRequirement(tokens.peek())) {
      throw badRequest(`found '${tokens.peek().text}', expected: identifier after ','`);
    }
  }
  return selector.sort(byKey);
}

interface Token {
  readonly kind: "identifier" | "symbol" | "end";
  readonly text: string;
}

const end: Token = { kind: "end", text: "" };
const token = /[ \t\r\n]*(?:(==|!=|[=!(),><])|([^ \t\r\n=!(),><]+)|$)/y;

interface Tokens {
  peek(): Token;
  next(): Token;
}

function scan(text: string): Tokens {
  const read = (at: number): { found: Token; after: number } => {
    token.lastIndex = at;
    const match = token.exec(text);
    const [, symbol, word] = match ?? [];
    if (word !== undefined) return { found: { kind: "identifier", text: word }, after: token.lastIndex };
    if (symbol !== undefined) return { found: { kind: "symbol", text: symbol }, after: token.lastIndex };
    return { found: end, after: text.length };
  };
  let ahead = read(0);
  return {
    peek: () => ahead.found,
    next: () => {
      const { found } = ahead;
      ahead = read(ahead.after);
      return found;
    },
  };
}

function startsRequirement({ kind, text }: Token): boolean {
  return kind === "identifier" || text === "!";
}

function endsRequirement({ kind, text }: Token): boolean {
  return kind === "end" || text === ",";
}

function parseRequirement(tokens: Tokens): LabelRequirement {
  const negated = tokens.peek().text === "!";
  if (negated) tokens.next();
  const { kind, text: key } = tokens.next();
  if (kind !== "identifier") throw unparsable(`found '${key}', expected: identifier`);
  const problems = qualifiedNameProblems(key);
  if (problems.length > 0) {
    throw unparsable(`<nil>: Invalid value: ${JSON.stringify(key)}: ${problems.join("; ")}`);
  }

  const requirement = negated
    ? { key, operator: "!" as const, values: [] }
    : { key, ...parseRestriction(tokens) };
  const problem = requirementProblem(requirement);
  if (problem !== undefined) throw unparsable(problem);
  return requirement;
}

const operators: Readonly<Record<string, LabelOperator>> = {
  "=": "=",
  "==": "==",
  "!=": "!=",
  ">": "gt",
  "<": "lt",
  in: "in",
  notin: "notin",
};

function parseRestriction(tokens: Tokens): Pick<LabelRequirement, "operator" | "values"> {
  if (endsRequirement(tokens.peek())) return { operator: "exists", values: [] };
  const { text } = tokens.next();
  const operator = Object.hasOwn(operators, text) ? operators[text] : undefined;
  if (!operator) throw unparsable(`found '${text}', expected: in, notin, =, ==, !=, gt, lt`);
  const values = operator === "in" || operator === "notin" ? parseSet(tokens) : [parseValue(tokens)];
  return { operator, values };
}

function parseValue(tokens: Tokens): string {
  if (endsRequirement(tokens.peek())) return "";
  const { kind, text } = tokens.next();
  if (kind !== "identifier") throw unparsable(`found '${text}', expected: identifier`);
  return text;
}

/** Parses a set of values. An omitted value is the empty string: `(a,,b)`, `()`. */
function parseSet(tokens: Tokens): string[] {
  const open = tokens.next();
  if (open.text !== "(") throw unparsable(`found '${open.text}' expected: '('`);
  const values = new Set<string>();
  for (;;) {
    const value = tokens.peek();
    if (value.kind === "identifier") tokens.next();
    else if (value.text !== "," && value.text !== ")") {
      const expected = values.size === 0 ? "',', ')' or identifier" : "',', or identifier";
      throw unparsable(`found '${value.text}', expected: ${expected}`);
    }
    values.add(value.kind === "identifier" ? value.text : "");
    const separator = tokens.next();
    if (separator.text === ")") return [...values].sort();
    if (separator.text !== ",") throw unparsable(`found '${separator.text}', expected: ',' or ')'`);
  }
}

function unparsable(problem: string): Error {
  return badRequest(`unable to parse requirement: ${problem}`);
}
