import { parse } from "yaml";
import type { Features } from "../../api/feature-gates.ts";
import type { FieldError } from "../../api/field-error.ts";
import { Report } from "../../api/validation/report.ts";
import { isMapping } from "../../lib/is-mapping.ts";
import { messageOf } from "../../lib/message-of.ts";
import { createFieldReader, reportUnknownFields } from "./field-reader.ts";
import type { ImagePullProgress } from "./image-pull-progress.ts";
import { readSettings, type Taint } from "./read-settings.ts";

/** How a kubelet runs: every field defaulted and checked. configuration-fields.ts says what each means. */
export interface KubeletConfiguration {
  readonly enableServer: boolean;
  readonly address: string;
  readonly port: number;
  /** Paths; empty where there is none. */
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
  /** Names of kernel settings, or patterns that end in `*`. */
  readonly allowedUnsafeSysctls: readonly string[];
  readonly serializeImagePulls: boolean;
  /** No limit when missing. */
  readonly maxParallelImagePulls?: number;
  readonly imagePullProgress: ImagePullProgress;
  /** 0: never. */
  readonly noProgressTimeoutSeconds: number;
  /** Those that the file sets, on top of the defaults. */
  readonly featureGates: Readonly<Partial<Features>>;
}

/** A configuration file that cannot be used, with all that is wrong with it. */
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

/** `file` is its name, for messages. Throws a KubeletConfigurationError. */
export function parseKubeletConfiguration(text: string, file: string): KubeletConfiguration {
  const at = new Report("");
  const { apiVersion: version, kind: kindOf, ...settings } = parseYaml(text, file);
  if (version !== apiVersion) at.notSupported("apiVersion", version, [apiVersion]);
  if (kindOf !== kind) at.notSupported("kind", kindOf, [kind]);
  reportUnknownFields(settings, at);
  const config = readSettings(createFieldReader(settings, at), at);
  if (at.errors.length > 0) throw new KubeletConfigurationError(file, at.errors);
  return config;
}

function parseYaml(text: string, file: string): Readonly<Record<string, unknown>> {
  const refuse = (message: string) =>
    new KubeletConfigurationError(file, [{ type: "FieldValueInvalid", field: "", message }]);
  let value: unknown;
  try {
    value = parse(text, { maxAliasCount: 100 });
  } catch (error) {
    throw refuse(messageOf(error));
  }
  if (!isMapping(value))
    throw refuse(`must be a YAML mapping with apiVersion: ${apiVersion} and kind: ${kind}`);
  return value;
}
