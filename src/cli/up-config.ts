import type { Command } from "commander";
import {
  type KubeletConfiguration,
  KubeletConfigurationError,
  parseKubeletConfiguration,
} from "../kubelet/configuration/kubelet-configuration.ts";
import { parseRuntimeConfig, type RuntimeConfig } from "../runtime/runtime-config.ts";
import { applyConfig } from "./config-file.ts";
import { parseGivenFile } from "./read-given-file.ts";
import { UsageError } from "./usage-error.ts";

/** What a file of `up --config` has beside the options. */
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
        // JSON is YAML too: the section is read as the file of `kindling runtime --config` is.
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
      `${name}.featureGates: write it at the top of the file, for all parts of the cluster`,
    );
  return parseKubeletConfiguration(
    JSON.stringify({
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      // Any free port, as without a file: several clusters live side by side on one machine.
      port: 0,
      ...section,
    }),
    name,
  );
}
