import type { Expr, ListExpr, MapExpr, StructExpr } from "./ast.ts";
import type { Issue } from "./issues.ts";
import { createMacroBuilder, MacroError, macros } from "./macros.ts";
import { escapeText, type Token, tokenize } from "./tokens.ts";
import { unescapeBytes, unescapeString } from "./unescape.ts";
import { Uint, type Value } from "./values.ts";

/** Limits of cel-go, with which a hostile expression is rejected before it is parsed or nested too deeply. */
const maxCodePoints = 100_000;
const maxDepth = 250;
/** Limit of our own: optMap contains its target twice, so that nested ones grow exponentially. */
const maxNodes = 200_000;

const reserved = new Set(
  "as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

/** Tokens with which an expression can begin, in the order of ANTLR's messages. */
const starts = ["[", "{", "(", ".", "-", "!", "true", "false", "null"];
const startClasses = ["NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER"];
const startSet = new Set([...starts, ...startClasses]);
/** Operators and brackets in the order of their tokens in the grammar. */
const tokenOrder = ["[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", "true", "false", "null"];

/** The tokens with which an expression can begin, and further ones, as ANTLR lists them. */
function startTextWith(extra: readonly string[]): string {
  const known = tokenOrder.filter((text) => starts.includes(text) || extra.includes(text));
  return `{${[...known.map((text) => `'${text}'`), ...startClasses].join(", ")}}`;
}

const startText = startTextWith([]);
const closers = new Set([")", "]", "}"]);
/** Tokens that can follow a complete expression. */
const afterValue = new Set("<EOF> == != in < <= >= > && || [ ] } ) . , - ? : + * / %".split(" "));

const relations: Readonly<Record<string, string>> = {
  "<": "_<_",
  "<=": "_<=_",
  ">=": "_>=_",
  ">": "_>_",
  "==": "_==_",
  "!=": "_!=_",
  in: "@in",
};
const sums: Readonly<Record<string, string>> = { "+": "_+_", "-": "_-_" };
const products: Readonly<Record<string, string>> = { "*": "_*_", "/": "_/_", "%": "_%_" };

class SyntaxFailure extends Error {}

/** Parses an expression and expands its macros. Issues have the texts of cel-go, whose parser is made by ANTLR. */
export function parseExpression(source: string): { readonly expr?: Expr; readonly issues: readonly Issue[] } {
  const size = codePoints(source);
  if (size > maxCodePoints) {
    const message = `expression code point size exceeds limit: size: ${size}, limit ${maxCodePoints}`;
    return { issues: [{ offset: -1, message }] };
  }
  const { tokens, issues: lexical } = tokenize(source);
  const issues = [...lexical];
  const end = tokens.at(-1) ?? { kind: "<EOF>", text: "<EOF>", offset: source.length };
  const depths = new Map<string, number>();
  let position = 0;
  let lastId = 0;
  const newId = () => {
    if (lastId >= maxNodes) {
      report(-1, `expression size exceeds limit after macro expansion: limit ${maxNodes} nodes`);
      throw new SyntaxFailure();
    }
    return ++lastId;
  };

  try {
    const expr = parseExpr();
    expectEnd();
    return issues.length > 0 ? { issues } : { expr, issues };
  } catch (failure) {
    if (!(failure instanceof SyntaxFailure)) throw failure;
    return { issues };
  }

  function peek(ahead = 0): Token {
    return tokens[position + ahead] ?? end;
  }

  function take(): Token {
    const token = peek();
    if (position < tokens.length - 1) position++;
    return token;
  }

  function report(offset: number, message: string): void {
    issues.push({ offset, message });
  }

  /** Reports a token that cannot follow. As ANTLR, one wrong token is skipped if the next one fits. */
  function mismatch(expected: string, fits: (token: Token) => boolean): void {
    const token = peek();
    const canSkip = token.kind !== "<EOF>" && fits(peek(1));
    const word = canSkip ? "extraneous" : "mismatched";
    report(token.offset, `Syntax error: ${word} input '${escapeText(token.text)}' expecting ${expected}`);
    if (!canSkip) throw new SyntaxFailure();
    take();
  }

  function expectEnd(): void {
    if (peek().kind !== "<EOF>") mismatch("<EOF>", (token) => token.kind === "<EOF>");
  }

  /** Takes a token. As ANTLR, a missing one is assumed if the current one can follow it. */
  function expect(kind: string, expected = `'${kind}'`): Token {
    const token = peek();
    if (token.kind === kind) return take();
    const canFollow =
      kind === ":" ? startSet.has(token.kind) : closers.has(kind) && afterValue.has(token.kind);
    if (canFollow && peek(1).kind !== kind) {
      report(token.offset, `Syntax error: missing '${kind}' at '${escapeText(token.text)}'`);
      return { kind, text: kind, offset: token.offset };
    }
    mismatch(expected, (next) => next.kind === kind);
    return take();
  }

  /** Reports a token that neither begins an expression nor ends the list of them that was opened. */
  function expectStart(close: string, isOptional: boolean): void {
    const { kind } = peek();
    if (kind === close || startSet.has(kind) || (isOptional && (kind === "?" || kind === ","))) return;
    const extra = isOptional ? [close, ",", "?"] : [close];
    const fits = (token: Token) => token.kind === close || startSet.has(token.kind);
    mismatch(startTextWith(extra), fits);
  }

  /** Counts the nesting of one grammar rule, as the listener of cel-go. Returns a function that ends it. */
  function enter(rule: string): { again(): void; leave(): void } {
    let count = 0;
    const again = () => {
      const depth = (depths.get(rule) ?? 0) + 1;
      if (depth > maxDepth) {
        report(-1, `expression recursion limit exceeded: ${maxDepth}`);
        throw new SyntaxFailure();
      }
      depths.set(rule, depth);
      count++;
    };
    again();
    return { again, leave: () => depths.set(rule, (depths.get(rule) ?? 0) - count) };
  }

  function call(offset: number, fn: string, args: readonly Expr[], target?: Expr): Expr {
    return { kind: "call", id: newId(), offset, fn, target, args };
  }

  function literal(offset: number, value: Value): Expr {
    return { kind: "literal", id: newId(), offset, value };
  }

  function parseExpr(): Expr {
    const rule = enter("expr");
    let expr = parseLogical("||");
    if (peek().kind === "?") {
      const { offset } = take();
      const yes = parseLogical("||");
      expect(":");
      expr = call(offset, "_?_:_", [expr, yes, parseExpr()]);
    }
    rule.leave();
    return expr;
  }

  function parseLogical(operator: "||" | "&&"): Expr {
    const rule = enter(operator);
    const next = () => (operator === "||" ? parseLogical("&&") : parseRelation());
    const terms = [next()];
    const offsets: number[] = [];
    while (peek().kind === operator) {
      offsets.push(take().offset);
      terms.push(next());
    }
    rule.leave();
    return offsets.length === 0 ? (terms[0] as Expr) : balance(0, offsets.length - 1);

    /** A balanced tree, so that long chains do not nest deeply. */
    function balance(low: number, high: number): Expr {
      const middle = Math.floor((low + high + 1) / 2);
      const left = middle === low ? terms[middle] : balance(low, middle - 1);
      const right = middle === high ? terms[middle + 1] : balance(middle + 1, high);
      return call(offsets[middle] ?? 0, `_${operator}_`, [left as Expr, right as Expr]);
    }
  }

  function parseRelation(): Expr {
    const rule = enter("relation");
    let expr = parseCalc(1);
    for (let fn = operator(relations); fn; fn = operator(relations)) {
      rule.again();
      const { offset } = take();
      const right = enter("relation");
      expr = call(offset, fn, [expr, parseCalc(1)]);
      right.leave();
    }
    rule.leave();
    return expr;
  }

  /** Sums (precedence 1) and products (2). */
  function parseCalc(precedence: 1 | 2 | 3): Expr {
    const rule = enter("calc");
    let expr = parseUnary();
    for (;;) {
      const product = precedence <= 2 ? operator(products) : undefined;
      const fn = product ?? (precedence <= 1 ? operator(sums) : undefined);
      if (!fn) break;
      rule.again();
      const { offset } = take();
      expr = call(offset, fn, [expr, parseCalc(product ? 3 : 2)]);
    }
    rule.leave();
    return expr;
  }

  function operator(operators: Readonly<Record<string, string>>): string | undefined {
    const { kind } = peek();
    return Object.hasOwn(operators, kind) ? operators[kind] : undefined;
  }

  function parseUnary(): Expr {
    const { kind, offset } = peek();
    const isNegative = kind === "-" && ["NUM_INT", "NUM_FLOAT"].includes(peek(1).kind);
    if ((kind !== "!" && kind !== "-") || isNegative) return parseMember();
    let count = 0;
    while (peek().kind === kind) {
      take();
      count++;
    }
    const operand = parseMember();
    return count % 2 === 0 ? operand : call(offset, kind === "!" ? "!_" : "-_", [operand]);
  }

  function parseMember(): Expr {
    const rule = enter("member");
    let expr = parsePrimary();
    for (;;) {
      const { kind, offset } = peek();
      if (kind !== "." && kind !== "[") break;
      rule.again();
      take();
      const optional = peek().kind === "?";
      if (optional) take();
      expr = kind === "." ? parseSelect(expr, offset, optional) : parseIndex(expr, offset, optional);
    }
    rule.leave();
    return expr;
  }

  function parseIndex(operand: Expr, offset: number, optional: boolean): Expr {
    const index = parseExpr();
    expect("]");
    return call(offset, optional ? "_[?_]" : "_[_]", [operand, index]);
  }

  function parseSelect(operand: Expr, offset: number, optional: boolean): Expr {
    const name = peek();
    if (name.kind === "ESC_IDENTIFIER") {
      take();
      report(name.offset, "unsupported syntax: '`'");
      return operand;
    }
    if (name.kind !== "IDENTIFIER") unexpectedField(name, optional);
    const field = expect("IDENTIFIER", "IDENTIFIER");
    if (optional) return call(offset, "_?._", [operand, literal(field.offset, field.text)]);
    if (peek().kind !== "(")
      return { kind: "select", id: newId(), offset, operand, field: field.text, testOnly: false };
    const open = take();
    return callOrMacro(open.offset, field.text, parseArguments(), operand);
  }

  function unexpectedField(token: Token, optional: boolean): void {
    const text = escapeText(token.text);
    const isWord = ["true", "false", "null"].includes(token.kind) && !optional;
    const message = isWord
      ? `mismatched input '${text}' expecting IDENTIFIER`
      : `no viable alternative at input '${optional ? ".?" : "."}${token.kind === "<EOF>" ? "" : text}'`;
    report(token.offset, `Syntax error: ${message}`);
    throw new SyntaxFailure();
  }

  function parseArguments(): Expr[] {
    const args: Expr[] = [];
    expectStart(")", false);
    if (peek().kind !== ")") {
      do args.push(parseExpr());
      while (peek().kind === "," && take());
    }
    expect(")");
    return args;
  }

  function callOrMacro(offset: number, fn: string, args: readonly Expr[], target?: Expr): Expr {
    const expand = macros.get(`${fn}:${args.length}:${target !== undefined}`);
    if (!expand) return call(offset, fn, args, target);
    const expanded = expand(createMacroBuilder(offset, newId), args, target);
    if (!(expanded instanceof MacroError)) return expanded;
    report(expanded.offset, expanded.message);
    return literal(offset, null);
  }

  function parsePrimary(): Expr {
    while (!startSet.has(peek().kind)) mismatch(startText, (token) => startSet.has(token.kind));
    const token = peek();
    switch (token.kind) {
      case "(": {
        take();
        const expr = parseExpr();
        expect(")");
        return expr;
      }
      case "[":
        return parseList();
      case "{":
        return parseMap();
      case ".":
      case "IDENTIFIER":
        return parseName();
      default:
        return parseLiteral();
    }
  }

  function parseName(): Expr {
    const start = peek();
    const dot = start.kind === "." ? take().text : "";
    const name = expect("IDENTIFIER", "IDENTIFIER");
    const typeName = structName(dot + name.text);
    if (typeName !== undefined) return parseStruct(typeName);
    if (reserved.has(name.text)) report(start.offset, `reserved identifier: ${name.text}`);
    if (peek().kind !== "(")
      return { kind: "ident", id: newId(), offset: name.offset, name: dot + name.text };
    const open = take();
    return callOrMacro(open.offset, dot + name.text, parseArguments());
  }

  /** Name of the type whose literal begins here: `a.b.Type{`. */
  function structName(first: string): string | undefined {
    let name = first;
    let ahead = 0;
    while (peek(ahead).kind === "." && peek(ahead + 1).kind === "IDENTIFIER") {
      name += `.${peek(ahead + 1).text}`;
      ahead += 2;
    }
    if (peek(ahead).kind !== "{") return undefined;
    position += ahead;
    return name;
  }

  function parseStruct(typeName: string): Expr {
    const { offset } = take();
    const id = newId();
    const fields: StructExpr["fields"][number][] = [];
    while (peek().kind !== "}") {
      const optional = peek().kind === "?" && Boolean(take());
      const name = expect("IDENTIFIER", "IDENTIFIER");
      const colon = expect(":");
      fields.push({ id: newId(), offset: colon.offset, name: name.text, value: parseExpr(), optional });
      if (peek().kind !== ",") break;
      take();
    }
    expect("}");
    return { kind: "struct", id, offset, typeName, fields };
  }

  function parseList(): Expr {
    const { offset } = take();
    const id = newId();
    const elements: ListExpr["elements"][number][] = [];
    expectStart("]", true);
    while (startSet.has(peek().kind) || peek().kind === "?") {
      const optional = peek().kind === "?" && Boolean(take());
      elements.push({ value: parseExpr(), optional });
      if (peek().kind !== ",") break;
      take();
    }
    if (elements.length === 0 && peek().kind === ",") take();
    expect("]");
    return { kind: "list", id, offset, elements };
  }

  function parseMap(): Expr {
    const { offset } = take();
    const id = newId();
    const entries: MapExpr["entries"][number][] = [];
    expectStart("}", true);
    while (startSet.has(peek().kind) || peek().kind === "?") {
      const optional = peek().kind === "?" && Boolean(take());
      const key = parseExpr();
      expect(":");
      entries.push({ key, value: parseExpr(), optional });
      if (peek().kind !== ",") break;
      take();
    }
    if (entries.length === 0 && peek().kind === ",") take();
    expect("}");
    return { kind: "map", id, offset, entries };
  }

  function parseLiteral(): Expr {
    const { offset } = peek();
    const sign = peek().kind === "-" ? take().text : "";
    const { kind, text } = take();
    const invalid = (message: string) => {
      report(offset, message);
      return literal(offset, null);
    };
    switch (kind) {
      case "true":
      case "false":
        return literal(offset, kind === "true");
      case "null":
        return literal(offset, null);
      case "NUM_INT": {
        const value = sign ? -BigInt(text) : BigInt(text);
        return BigInt.asIntN(64, value) === value ? literal(offset, value) : invalid("invalid int literal");
      }
      case "NUM_UINT": {
        const value = BigInt(text.slice(0, -1));
        return BigInt.asUintN(64, value) === value
          ? literal(offset, new Uint(value))
          : invalid("invalid uint literal");
      }
      case "NUM_FLOAT": {
        const value = Number(sign + text);
        return Number.isFinite(value) ? literal(offset, value) : invalid("invalid double literal");
      }
      case "STRING": {
        const found = unescapeString(text);
        return "error" in found ? invalid(found.error) : literal(offset, found.value);
      }
      default: {
        const found = unescapeBytes(text.slice(1));
        return "error" in found ? invalid(found.error) : literal(offset, found.value);
      }
    }
  }
}

/** Number of code points of a text: the size of a string in CEL. */
export function codePoints(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff && i + 1 < text.length) {
      const next = text.charCodeAt(i + 1);
      if (next >= 0xdc00 && next <= 0xdfff) {
        count--;
        i++;
      }
    }
  }
  return count;
}
