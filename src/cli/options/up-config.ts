import { dirname, resolve } from "node:path";
import { type Command, InvalidArgumentError, Option } from "commander";
import { parse } from "yaml";
import type { DashboardOptions } from "../../cluster/parts/monitor.ts";
import {
  type KubeletConfiguration,
  KubeletConfigurationError,
  parseKubeletConfiguration,
} from "../../kubelet/config/kubelet-configuration.ts";
import { closestName } from "../../lib/closest-name.ts";
import { messageOf } from "../../lib/message-of.ts";
import { parseRuntimeConfig, type RuntimeConfig } from "../../runtime/runtime-config.ts";
import { parseGivenFile, UsageError } from "./command-errors.ts";
import { parseListenAddress } from "./common-options.ts";

/** Sections of the file of `up --config` that are not options. */
export interface NodeSections {
  readonly kubeletConfig?: KubeletConfiguration;
  readonly runtimeConfig?: RuntimeConfig;
}

/** Reads the file that `--config` names, if any, into the command's options and the two sections. */
export async function readUpConfig(command: Command): Promise<NodeSections> {
  const sections = ["kubeletConfig", "runtimeConfig"];
  const read = await parseGivenFile("--config", command.opts().config, (text, file): NodeSections => {
    const { kubeletConfig, runtimeConfig } = applyConfig(command, text, { file, sections });
    return {
      ...(kubeletConfig !== undefined && { kubeletConfig: kubeletOf(kubeletConfig, file) }),
      ...(runtimeConfig !== undefined && {
        // JSON is valid YAML: the section is parsed like the file of `kindling runtime --config`.
        runtimeConfig: parseRuntimeConfig(JSON.stringify(runtimeConfig), `${file}: runtimeConfig`),
      }),
    };
  });
  return read ?? {};
}

function kubeletOf(section: unknown, file: string): KubeletConfiguration {
  const name = `${file}: kubeletConfig`;
  if (typeof section !== "object" || section === null || Array.isArray(section))
    throw new KubeletConfigurationError(name, [
      { type: "FieldValueInvalid", field: "", message: "must be a mapping" },
    ]);
  if ("featureGates" in section)
    throw new UsageError(
      `${name}.featureGates: move it to the top level of the file, where it applies to all components`,
    );
  return parseKubeletConfiguration(
    JSON.stringify({
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      // Any free port, as without a file, so that several clusters can run on one machine.
      port: 0,
      ...section,
    }),
    name,
  );
}

type Mapping = Readonly<Record<string, unknown>>;

/**
 * Sets options of a command from a YAML file, in which `--data-dir` is `dataDir`. The command line and the environment
 * take precedence. Returns the values of `sections` unparsed.
 */
function applyConfig(
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

/** Options that the file can set: all except `--config`. */
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
  const reject = (why: string) => new UsageError(`${file}: ${nameOf(option)}: ${why}`);
  if (value === true && option.optional) return true;
  if (option.isBoolean()) {
    if (typeof value !== "boolean") throw reject("must be true or false");
    return value;
  }
  const text = asText(value);
  if (text === undefined) throw reject("must be a string or a number, as on the command line");
  // Paths are relative to the file that contains them.
  const given = takesPath(option) ? resolve(dirname(file), text) : text;
  try {
    return option.parseArg ? option.parseArg(given, undefined) : given;
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw reject(error.message);
    throw error;
  }
}

function takesPath({ flags }: Option): boolean {
  return /[<[](file|dir)[\]>]$/i.test(flags);
}

/** Formats a value as on the command line: a list as `a,b`, a mapping as `Name=value,Other=value`. */
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

export type DashboardChoice = DashboardOptions | "off";

const standard = "127.0.0.1:6480";

/** `--dashboard HOST:PORT` or `off`. */
export const dashboardOption = () =>
  new Option(
    "--dashboard <host:port>",
    "address of the dashboard, or off; if the default port is in use, another free port is selected",
  )
    .argParser(parseDashboard)
    .default({ listen: parseListenAddress(standard), mayMove: true } satisfies DashboardChoice, standard);

function parseDashboard(text: string): DashboardChoice {
  return text === "off" ? "off" : { listen: parseListenAddress(text) };
}
