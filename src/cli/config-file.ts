import { dirname, resolve } from "node:path";
import { type Command, InvalidArgumentError, type Option } from "commander";
import { parse } from "yaml";
import { closestName } from "../lib/closest-name.ts";
import { messageOf } from "../lib/message-of.ts";
import { UsageError } from "./usage-error.ts";

type Mapping = Readonly<Record<string, unknown>>;

/**
 * Takes options of a command from the text of a YAML file: `--data-dir` is `dataDir` there. What the command line or
 * the environment says goes before. Answers with what the file has under the names of `sections`, unread.
 */
export function applyConfig(
  command: Command,
  text: string,
  { file, sections }: { readonly file: string; readonly sections: readonly string[] },
): Mapping {
  const config = parseMapping(text, file);
  const options = configurableOptions(command);
  const rest: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(config)) {
    if (sections.includes(name)) {
      rest[name] = value;
      continue;
    }
    const option = options.find((candidate) => candidate.attributeName() === name);
    if (!option)
      throw new UsageError(`${file}: ${unknownField(name, [...options.map(nameOf), ...sections])}`);
    const parsed = readValue(option, value, file);
    const source = command.getOptionValueSource(name);
    if (source !== "cli" && source !== "env") command.setOptionValueWithSource(name, parsed, "config");
  }
  return rest;
}

/** Options that can stand in a file: all but those about files and help. */
function configurableOptions(command: Command): readonly Option[] {
  return command.options.filter((option) => nameOf(option) !== "config");
}

function nameOf(option: Option): string {
  return option.attributeName();
}

function parseMapping(text: string, file: string): Mapping {
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: 100 }) ?? {};
  } catch (error) {
    throw new UsageError(`${file}: ${messageOf(error)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new UsageError(`${file} must be a mapping of options to values, such as listen: 127.0.0.1:6443`);
  return { ...value };
}

function unknownField(name: string, known: readonly string[]): string {
  const meant = closestName(name, known);
  return `unknown field ${JSON.stringify(name)}; ${meant ? `did you mean ${meant}?` : `there are ${known.join(", ")}`}`;
}

function readValue(option: Option, value: unknown, file: string): unknown {
  const refuse = (why: string) => new UsageError(`${file}: ${nameOf(option)}: ${why}`);
  if (value === true && option.optional) return true;
  if (option.isBoolean()) {
    if (typeof value !== "boolean") throw refuse("must be true or false");
    return value;
  }
  const text = asText(value);
  if (text === undefined) throw refuse("must be a text or a number, as on the command line");
  // Like other programs: a file's paths are seen from where it is.
  const given = takesPath(option) ? resolve(dirname(file), text) : text;
  try {
    return option.parseArg ? option.parseArg(given, undefined) : given;
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw refuse(error.message);
    throw error;
  }
}

function takesPath({ flags }: Option): boolean {
  return /[<[](file|dir)[\]>]$/i.test(flags);
}

/** A list is what the command line separates by commas; a mapping is `Name=value` with commas between. */
function asText(value: unknown): string | undefined {
  if (typeof value === "string" || typeof value === "number") return String(value);
  if (Array.isArray(value))
    return value.every((item) => typeof item === "string") ? value.join(",") : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  const settings = Object.entries(value);
  return settings.every(([, setting]) => typeof setting !== "object")
    ? settings.map(([name, setting]) => `${name}=${setting}`).join(",")
    : undefined;
}
