import { parse } from "yaml";
import type { Features } from "../../api/meta/feature-gates.ts";
import { type FieldError, FieldErrors } from "../../api/meta/field-errors.ts";
import type { ReportGranularity } from "../../cri/progress-message.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import { messageOf } from "../../lib/message-of.ts";
import { createFieldReader, reportUnknownFields } from "./field-reader.ts";
import { readSettings, type Taint } from "./read-settings.ts";

/** Validated configuration of a kubelet with all defaults applied. configuration-fields.ts documents the fields. */
export interface KubeletConfiguration {
  readonly enableServer: boolean;
  readonly enableSystemLogHandler: boolean;
  readonly address: string;
  readonly port: number;
  /** Paths; empty if not set. */
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly authentication: {
    readonly anonymous: { readonly enabled: boolean };
    readonly webhook: { readonly enabled: boolean };
    readonly x509: { readonly clientCAFile: string };
  };
  readonly authorization: { readonly mode: "Webhook" | "AlwaysAllow" };
  readonly staticPodPath: string;
  readonly syncFrequencyMs: number;
  readonly nodeStatusUpdateFrequencyMs: number;
  readonly nodeStatusReportFrequencyMs: number;
  readonly nodeLeaseDurationSeconds: number;
  readonly registerNode: boolean;
  readonly registerWithTaints: readonly Taint[];
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly maxPods: number;
  readonly clusterDNS: readonly string[];
  readonly clusterDomain: string;
  readonly resolvConf: string;
  readonly cgroupDriver: "cgroupfs" | "systemd";
  readonly cgroupRoot: string;
  readonly cgroupsPerQOS: boolean;
  readonly cpuCFSQuota: boolean;
  readonly seccompDefault: boolean;
  readonly containerLogMaxSizeBytes: number;
  readonly containerLogMaxFiles: number;
  readonly crashLoopBackOff: { readonly maxContainerRestartPeriodMs: number };
  readonly shutdownGracePeriodMs: number;
  readonly shutdownGracePeriodCriticalPodsMs: number;
  /** Names of sysctls, or patterns that end in `*`. */
  readonly allowedUnsafeSysctls: readonly string[];
  readonly serializeImagePulls: boolean;
  /** No limit if undefined. */
  readonly maxParallelImagePulls?: number;
  /** When events about the progress of image pulls are recorded on pods (KEP-3542). */
  readonly imagePullProgress: ReportGranularity;
  /** 0 disables the timeout. */
  readonly noProgressTimeoutSeconds: number;
  /** Gates that the file sets, on top of the defaults. */
  readonly featureGates: Readonly<Partial<Features>>;
}

/** Error for an invalid configuration file, with all of its problems. */
export class KubeletConfigurationError extends Error {
  readonly problems: readonly FieldError[];

  constructor(file: string, problems: readonly FieldError[]) {
    const lines = problems.map(({ field, message }) => (field ? `${field}: ${message}` : message));
    super(`${file} is not a kubelet configuration that can be used:\n  ${lines.join("\n  ")}`);
    this.name = "KubeletConfigurationError";
    this.problems = problems;
  }
}

const apiVersion = "kubelet.config.k8s.io/v1beta1";
const kind = "KubeletConfiguration";

export const defaultKubeletConfiguration: KubeletConfiguration = parseKubeletConfiguration(
  `apiVersion: ${apiVersion}\nkind: ${kind}`,
  "the default",
);

/** Parses a configuration file. `file` is its name in messages. Throws a KubeletConfigurationError. */
export function parseKubeletConfiguration(text: string, file: string): KubeletConfiguration {
  const at = new FieldErrors("");
  const { apiVersion: version, kind: kindOf, ...settings } = parseYaml(text, file);
  if (version !== apiVersion) at.notSupported("apiVersion", version, [apiVersion]);
  if (kindOf !== kind) at.notSupported("kind", kindOf, [kind]);
  reportUnknownFields(settings, at);
  const config = readSettings(createFieldReader(settings, at), at);
  if (at.errors.length > 0) throw new KubeletConfigurationError(file, at.errors);
  return config;
}

function parseYaml(text: string, file: string): Readonly<Record<string, unknown>> {
  const reject = (message: string) =>
    new KubeletConfigurationError(file, [{ type: "FieldValueInvalid", field: "", message }]);
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: 100 });
  } catch (error) {
    throw reject(messageOf(error));
  }
  if (!isMapping(value))
    throw reject(`must be a YAML mapping with apiVersion: ${apiVersion} and kind: ${kind}`);
  return value;
}
