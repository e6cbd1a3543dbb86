import { homedir } from "node:os";
import type { Command, Option } from "commander";
import { featureGates } from "../api/meta/feature-gates.ts";
import { configurationFields } from "../kubelet/config/configuration-fields.ts";
import { runtimeConfigFields } from "../runtime/runtime-config.ts";
import { buildProgram } from "./commands.ts";

/** Generates docs/configuration.md from the options, fields and feature gates in the code. */
export async function configurationReference(): Promise<string> {
  const program = await buildProgram(() => true);
  return [
    "# Configuration",
    "Generated from the code by `node scripts/generate-configuration-reference.mjs`; `npm run check` fails if it is stale.",
    "Exit codes of every command: 0 success, 1 failure, 2 invalid usage. `NO_COLOR` turns colors off.",
    "## Commands and their options",
    ...program.commands.flatMap((command) => commandSection(command, "kindling")),
    ...configFileSection(),
    "## Fields of the kubelet",
    "In the file of `kindling kubelet --config` (`apiVersion: kubelet.config.k8s.io/v1beta1`, `kind: KubeletConfiguration`), or under `kubeletConfig` in the file of `kindling up --config`, where the default of `port` is 0.",
    table(
      ["field", "type", "default", "description"],
      configurationFields.map((field) => [
        code(field.name),
        field.type,
        "default" in field ? code(JSON.stringify(field.default)) : "",
        field.meaning,
      ]),
    ),
    "## Fields of the runtime",
    "In the file of `kindling runtime --config`, or under `runtimeConfig` in the file of `kindling up --config`.",
    table(
      ["field", "description"],
      runtimeConfigFields.map(({ name, meaning }) => [code(name), meaning]),
    ),
    "## Fields of the monitor",
    "[monitor.md](monitor.md) describes the file of `kindling monitor --config`.",
    "## Feature gates",
    "Set them with `--feature-gates Name=true,Other=false` or with `featureGates` in a configuration file.",
    table(
      ["gate", "stage", "default", "read by", "description"],
      featureGates.map((gate) => [
        code(gate.name) + ("alias" in gate ? ` (also ${code(gate.alias)})` : ""),
        gate.stage,
        gate.default ? "on" : "off",
        gate.components.join(", "),
        gate.summary,
      ]),
    ),
  ]
    .join("\n\n")
    .concat("\n");
}

function commandSection(command: Command, above: string): string[] {
  const help = command.createHelp();
  const usage = `${above} ${command.name()}`;
  const words = command.registeredArguments.map((argument) => {
    const shown = `${argument.name()}${argument.variadic ? "..." : ""}`;
    return argument.required ? `<${shown}>` : `[${shown}]`;
  });
  const options = help.visibleOptions(command).filter(({ long }) => long !== "--help");
  return [
    `### ${code([usage, ...words].join(" "))}`,
    capitalized(command.description()),
    ...(options.length > 0 ? [table(["option", "default", "description"], options.map(optionRow))] : []),
    ...command.commands.flatMap((child) => commandSection(child, usage)),
  ];
}

function optionRow(option: Option): string[] {
  const choices = option.argChoices ? `; one of ${option.argChoices.map(code).join(", ")}` : "";
  const variable = option.envVar ? `; also ${code(`$${option.envVar}`)}` : "";
  const required = option.mandatory ? "; required" : "";
  return [code(option.flags), defaultOf(option), `${option.description}${choices}${variable}${required}`];
}

function defaultOf({ defaultValue, defaultValueDescription }: Option): string {
  if (defaultValueDescription) return code(defaultValueDescription);
  if (defaultValue === undefined || defaultValue === false) return "";
  const text = typeof defaultValue === "string" ? defaultValue : JSON.stringify(defaultValue);
  // Independent of the user's home directory.
  return code(text.replace(homedir(), "~"));
}

function configFileSection(): string[] {
  return [
    "## The file of `kindling up --config`",
    "YAML file with any options of `kindling up`, by their names in camel case: `--data-dir` is `dataDir`. The command line takes precedence. Paths are relative to the file. Comma-separated options are lists or mappings in the file.",
    `\`\`\`yaml
dataDir: ./cluster
listen: 127.0.0.1:6443
mergeKubeconfig: true
featureGates:
  ImagePullProgress: true
kubeletConfig:
  maxPods: 50
  noProgressTimeout: 30
runtimeConfig:
  mirrors:
    docker.io: [https://mirror.example.com]
  handlers:
    light: host
\`\`\``,
  ];
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(header), `|${header.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replace(/\s+/g, " ");
}

function code(text: string): string {
  return `\`${text}\``;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
