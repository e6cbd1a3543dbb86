import type { Command } from "commander";
import { type FeatureGate, type Features, featureGates } from "../../api/meta/feature-gates.ts";
import { featureGatesOption, outputOption } from "../options/common-options.ts";
import { formatTable, painter, wantsColor } from "../printer/terminal-text.ts";

interface FeaturesOptions {
  featureGates: Features;
  output: "table" | "json";
}

export function configure(command: Command): void {
  command
    .addOption(featureGatesOption())
    .addOption(outputOption())
    .addHelpText(
      "after",
      "\nExamples:\n  kindling features\n  kindling features --feature-gates ImagePullProgress=false -o json",
    )
    .action((options: FeaturesOptions) => {
      const color = wantsColor(process.stdout);
      process.stdout.write(options.output === "json" ? formatJson(options) : formatText(options, color));
    });
}

function formatText(options: FeaturesOptions, color: boolean): string {
  const paint = painter(color);
  const rows = featureGates.map((gate: FeatureGate & (typeof featureGates)[number]) => [
    gate.name,
    gate.stage,
    options.featureGates[gate.name] ? paint("green", "on") : paint("yellow", "off"),
    gate.default ? "on" : "off",
    gate.components.join(","),
    gate.summary,
  ]);
  return formatTable(["NAME", "STAGE", "STATE", "DEFAULT", "COMPONENTS", "DESCRIPTION"], rows, { color });
}

function formatJson(options: FeaturesOptions): string {
  const gates = featureGates.map((gate) => ({ ...gate, enabled: options.featureGates[gate.name] }));
  return `${JSON.stringify(gates, null, 2)}\n`;
}
