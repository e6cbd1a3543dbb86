import { type KeyObject, X509Certificate } from "node:crypto";
import { chmod, mkdir } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { KeyPair } from "../../../lib/x509/certificate.ts";
import { type Subject, subjectOf } from "../../../lib/x509/issuer.ts";
import { kubeletClientUser, mastersGroup } from "../../request/user-info.ts";
import {
  type Authority,
  type IssueOptions,
  issueKeyPair,
  loadOrCreateAuthority,
  loadOrCreateKey,
  readKeyPair,
  writeKeyPair,
} from "./authority.ts";

/** Certificates and keys of the cluster. The keys are not encrypted and must not be logged. */
export interface Pki extends Record<ClientName, KeyPair> {
  readonly authority: Authority;
  readonly serving: KeyPair;
  /** Signs service account tokens. */
  readonly serviceAccountKey: KeyObject;
}

export interface PkiOptions {
  readonly directory: string;
  /** Names and addresses of the server, in addition to the default ones. */
  readonly hosts?: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const clients = {
  admin: { file: "admin", commonName: "kubernetes-admin", organizations: [mastersGroup] },
  controllerManager: { file: "controller-manager", commonName: "system:kube-controller-manager" },
  scheduler: { file: "scheduler", commonName: "system:kube-scheduler" },
  /** Client certificate of the API server for kubelets, which authorize this user with a SubjectAccessReview. */
  kubeletClient: {
    file: "apiserver-kubelet-client",
    commonName: kubeletClientUser,
  },
} as const satisfies Record<string, Subject & { readonly file: string }>;

type ClientName = keyof typeof clients;

const usualHosts = [
  "localhost",
  "127.0.0.1",
  "::1",
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
  // The first address of the service range, at which pods reach the API.
  "10.96.0.1",
];

const renewBeforeMs = 30 * 24 * 60 * 60 * 1000;

/** Loads `<data-dir>/pki`. Issues certificates that are missing, expire soon or were signed by another CA. */
export async function loadOrCreatePki({ directory, hosts = [], now }: PkiOptions): Promise<Pki> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await chmod(directory, 0o700);
  const [authority, serviceAccountKey] = await Promise.all([
    loadOrCreateAuthority(directory, now),
    loadOrCreateKey(join(directory, "sa.key")),
  ]);
  const client = (name: ClientName) =>
    loadOrIssue(clients[name].file, { subject: clients[name], purpose: "client", now });
  const [serving, admin, controllerManager, scheduler, kubeletClient] = await Promise.all([
    loadOrIssue("apiserver", {
      subject: { commonName: "kube-apiserver" },
      purpose: "server",
      hosts: [...new Set([...usualHosts, ...hosts])],
      now,
    }),
    client("admin"),
    client("controllerManager"),
    client("scheduler"),
    client("kubeletClient"),
  ]);
  return { authority, serving, admin, controllerManager, scheduler, kubeletClient, serviceAccountKey };

  async function loadOrIssue(name: string, options: IssueOptions): Promise<KeyPair> {
    const existing = await readKeyPair(directory, name);
    if (existing && isGood(existing, authority, options)) return existing;
    const issued = issueKeyPair(authority, options);
    await writeKeyPair(directory, name, issued);
    return issued;
  }
}

function isGood({ cert }: KeyPair, authority: Authority, options: IssueOptions): boolean {
  const { subject, hosts = [], now } = options;
  const certificate = new X509Certificate(cert);
  return (
    // An earlier version may have issued it for another user.
    isDeepStrictEqual(subjectOf(certificate), {
      commonName: subject.commonName,
      organizations: subject.organizations ?? [],
    }) &&
    Date.parse(certificate.validTo) - now > renewBeforeMs &&
    // Issued before the clock was set back: it is not valid yet.
    Date.parse(certificate.validFrom) <= now &&
    certificate.verify(authority.certificate.publicKey) &&
    hosts.every(
      (host) => (isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host)) !== undefined,
    )
  );
}

/**
 * Issues a client certificate for a node (`system:node:NAME` of `system:nodes`) or a user. It is not written to disk.
 */
export function issueClientCertificate(pki: Pki, subject: Subject & { readonly now: number }): KeyPair {
  const { now, ...rest } = subject;
  return issueKeyPair(pki.authority, { subject: rest, purpose: "client", now });
}
