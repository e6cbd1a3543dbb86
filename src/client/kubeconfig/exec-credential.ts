import { execFile } from "node:child_process";
import type { Clock } from "../../lib/clock.ts";
import type { ExecPlugin } from "./kubeconfig.ts";

/** Output of a credential plugin. */
export interface ExecCredential {
  readonly token?: string;
  readonly certificate?: { readonly cert: string; readonly key: string };
  /** Undefined: valid for the lifetime of the process. */
  readonly expiresAt?: number;
}

/** Allows for slow cloud requests, and stops plugins that wait for input. */
const timeoutMs = 60_000;
/** Credentials are renewed this long before they expire. */
const renewBeforeMs = 30_000;

/** Returns the current credential. Runs the plugin when it is missing or expires; concurrent callers share one run. */
export function createExecCredential(
  plugin: ExecPlugin,
  clock: Clock,
  run: (plugin: ExecPlugin) => Promise<string> = runPlugin,
): () => Promise<ExecCredential> {
  let last: ExecCredential | undefined;
  let pending: Promise<ExecCredential> | undefined;

  async function runAndParse(): Promise<ExecCredential> {
    last = parseExecCredential(await run(plugin), plugin);
    return last;
  }

  return async () => {
    if (last && (last.expiresAt === undefined || clock.now() < last.expiresAt - renewBeforeMs)) return last;
    pending ??= runAndParse().finally(() => {
      pending = undefined;
    });
    return pending;
  };
}

export function parseExecCredential(text: string, { field, apiVersion }: ExecPlugin): ExecCredential {
  const { kind, apiVersion: printed, status } = readJson(text, field);
  if (kind !== "ExecCredential" || printed !== apiVersion) {
    throw new Error(`${field}: the program did not print an ExecCredential of ${apiVersion}`);
  }
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status ?? {};
  if (!token && !(cert && key))
    throw new Error(`${field}: the program printed neither token nor certificate`);
  const expiresAt = expirationTimestamp ? Date.parse(expirationTimestamp) : undefined;
  return {
    ...(token && { token }),
    ...(cert && key && { certificate: { cert, key } }),
    ...(expiresAt !== undefined && !Number.isNaN(expiresAt) && { expiresAt }),
  };
}

interface Printed {
  readonly kind?: unknown;
  readonly apiVersion?: unknown;
  readonly status?: {
    readonly token?: string;
    readonly clientCertificateData?: string;
    readonly clientKeyData?: string;
    readonly expirationTimestamp?: string;
  };
}

function readJson(text: string, field: string): Printed {
  try {
    return JSON.parse(text) ?? {};
  } catch (error) {
    // The output is not included: it may contain a secret.
    throw new Error(`${field}: the program did not print JSON`, { cause: error });
  }
}

function runPlugin({ command, args, env, apiVersion, installHint, field }: ExecPlugin): Promise<string> {
  const info = { kind: "ExecCredential", apiVersion, spec: { interactive: false } };
  return new Promise((resolve, reject) => {
    const child = execFile(
      command,
      [...args],
      {
        env: { ...process.env, ...env, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
        timeout: timeoutMs,
        maxBuffer: 1 << 20,
      },
      (error, stdout, stderr) => {
        if (!error) return resolve(stdout);
        const missing = "code" in error && error.code === "ENOENT";
        const why = missing ? `${command} is not installed` : stderr.trim() || error.message;
        reject(new Error([`${field}: ${why}`, missing && installHint].filter(Boolean).join("\n")));
      },
    );
    child.stdin?.end();
  });
}
