import { homedir } from "node:os";
import type { Command, Option } from "commander";
import { featureGates } from "../api/feature-gates.ts";
import { configurationFields } from "../kubelet/configuration/configuration-fields.ts";
import { runtimeConfigFields } from "../runtime/runtime-config.ts";
import { buildProgram } from "./build-program.ts";

/** The text of docs/configuration.md: whatever can be set, from where the code reads it. */
export async function configurationReference(): Promise<string> {
  const program = await buildProgram(() => true);
  return [
    "# Configuration",
    "Generated from the code by `node scripts/generate-configuration-reference.mjs`; a test fails when it is out of date.",
    "Exit codes of every command: 0 done, 1 failed, 2 wrong usage. `NO_COLOR` switches colours off.",
    "## Commands and their options",
    ...program.commands.flatMap((command) => commandSection(command, "kindling")),
    ...configFileSection(),
    "## The kubelet's fields",
    "In the file of `kindling kubelet --config` (`apiVersion: kubelet.config.k8s.io/v1beta1`, `kind: KubeletConfiguration`), or under `kubeletConfig` in that of `kindling up --config`, where `port` is 0 unless set.",
    table(
      ["field", "type", "default", "meaning"],
      configurationFields.map((field) => [
        code(field.name),
        field.type,
        "default" in field ? code(JSON.stringify(field.default)) : "",
        field.meaning,
      ]),
    ),
    "## The runtime's fields",
    "In the file of `kindling runtime --config`, or under `runtimeConfig` in that of `kindling up --config`.",
    table(
      ["field", "meaning"],
      runtimeConfigFields.map(({ name, meaning }) => [code(name), meaning]),
    ),
    "## The monitor's fields",
    "[monitor.md](monitor.md) has the file of `kindling monitor --config`.",
    "## Feature gates",
    "Switched with `--feature-gates Name=true,Other=false` or with `featureGates` in a file.",
    table(
      ["gate", "stage", "default", "read by", "what it does"],
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
    ...(options.length > 0 ? [table(["option", "default", "meaning"], options.map(optionRow))] : []),
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
  // The same text on every machine.
  return code(text.replace(homedir(), "~"));
}

function configFileSection(): string[] {
  return [
    "## The file of `kindling up --config`",
    "YAML. Every option of `kindling up` can stand in it, by its name in camel case: `--data-dir` is `dataDir`. What the command line says goes before what the file says. Paths are seen from where the file is; lists and mappings stand where the command line has commas.",
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
