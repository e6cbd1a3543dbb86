import type * as k8s from "@kubernetes/client-node";
import type { FieldErrors } from "../../meta/field-errors.ts";
import { validateLabelSelector } from "../../meta/validate-metadata.ts";
import { validateUnreservedPath } from "../../meta/validate-path.ts";
import { validateFieldRef, validateResourceFieldRef, volumeFields } from "./env.ts";

export function validateMode(field: string, mode: number | undefined, at: FieldErrors): void {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) {
    at.invalid(field, mode, "must be a number between 0 and 0777 (octal), both inclusive");
  }
}

export function validateKeyToPath(item: k8s.V1KeyToPath, at: FieldErrors): void {
  at.requireFields(item, ["key", "path"]);
  validateUnreservedPath(item.path ?? "", at.child("path"));
  validateMode("mode", item.mode, at);
}

/** Validates downward API files. Like upstream, errors have the path of the volume, not of the file. */
export function validateDownwardFiles(
  files: k8s.V1DownwardAPIVolumeFile[] | undefined,
  at: FieldErrors,
): void {
  for (const file of files ?? []) {
    const { fieldRef, resourceFieldRef } = file;
    if (!file.path) at.required("path");
    validateUnreservedPath(file.path ?? "", at.child("path"));
    if (fieldRef) {
      validateFieldRef(fieldRef, at.child("fieldRef"), volumeFields);
      if (resourceFieldRef) {
        at.invalid("", "resource", "fieldRef and resourceFieldRef can not be specified simultaneously");
      }
    } else if (resourceFieldRef) {
      if (!resourceFieldRef.containerName) at.required("resourceFieldRef.containerName");
      else validateResourceFieldRef(resourceFieldRef, at.child("resourceFieldRef"));
    } else {
      at.required("", "one of fieldRef and resourceFieldRef is required");
    }
    validateMode("mode", file.mode, at);
  }
}

export function validateProjectedVolume(volume: k8s.V1ProjectedVolumeSource, at: FieldErrors): void {
  validateMode("defaultMode", volume.defaultMode, at);
  const paths = new Set<string>();
  /** Rejects a file that another source writes too. */
  const claim = (path: string | undefined, shown = path) => {
    if (!path) return;
    if (paths.has(path)) at.invalid("", shown, "conflicting duplicate paths");
    paths.add(path);
  };

  at.each("sources", volume.sources, (source, place) => {
    const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } =
      source;
    for (const [field, object] of Object.entries({ secret, configMap })) {
      if (!object) continue;
      if (!object.name) place.required(`${field}.name`);
      place.each(`${field}.items`, object.items, validateKeyToPath);
      for (const item of object.items ?? []) claim(item.path, object.name);
    }
    if (downwardAPI) {
      validateDownwardFiles(downwardAPI.items, place.child("downwardAPI"));
      for (const file of downwardAPI.items ?? []) claim(file.path);
    }
    if (serviceAccountToken) {
      validateToken(serviceAccountToken, place.child("serviceAccountToken"));
      // Upstream reports a missing token path at the volume.
      if (!serviceAccountToken.path) at.required("path");
      else validateUnreservedPath(serviceAccountToken.path, at.child("path"));
    }
    if (clusterTrustBundle) {
      validateTrustBundle(clusterTrustBundle, place.child("clusterTrustBundle"));
      claim(clusterTrustBundle.path);
    }
    if (podCertificate) {
      validatePodCertificate(podCertificate, place.child("podCertificate"));
      for (const field of certificatePaths) claim(podCertificate[field]);
    }
    if (Object.keys(source).length > 1) {
      place.forbidden("", "may not specify more than 1 volume type per source");
    }
  });
}

function validateToken({ expirationSeconds }: k8s.V1ServiceAccountTokenProjection, at: FieldErrors): void {
  if (expirationSeconds === undefined) {
    at.required("expirationSeconds");
    return;
  }
  const reject = (detail: string) => at.invalid("expirationSeconds", expirationSeconds, detail);
  if (expirationSeconds < 600) reject("may not specify a duration less than 10 minutes");
  if (expirationSeconds > 2 ** 32) reject("may not specify a duration larger than 2^32 seconds");
}

function validateTrustBundle(bundle: k8s.V1ClusterTrustBundleProjection, at: FieldErrors): void {
  const { name, signerName, labelSelector, path } = bundle;
  if (name !== undefined && signerName !== undefined) {
    at.invalid("", bundle, "only one of name and signerName may be used");
  } else if (name !== undefined) {
    if (name === "") at.required("name", "must be a valid object name");
    if (labelSelector) {
      at.invalid("labelSelector", labelSelector, "labelSelector must be unset if name is specified");
    }
  } else if (signerName !== undefined) {
    if (signerName === "") at.required("signerName", "must be a valid signer name");
    validateLabelSelector(labelSelector, at.child("labelSelector"));
  } else {
    at.required("", "either name or signerName must be specified");
  }
  if (!path) at.required("path");
  validateUnreservedPath(path ?? "", at.child("path"));
}

const certificatePaths = ["credentialBundlePath", "keyPath", "certificateChainPath"] as const;
const keyTypes = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

function validatePodCertificate(certificate: k8s.V1PodCertificateProjection, at: FieldErrors): void {
  at.requireFields(certificate, ["signerName"]);
  at.oneOf("keyType", certificate.keyType ?? "", keyTypes);
  const seconds = certificate.maxExpirationSeconds;
  if (seconds !== undefined && seconds < 3600) {
    at.invalid("maxExpirationSeconds", seconds, "if provided, maxExpirationSeconds must be >= 3600");
  }
  const given = certificatePaths.filter((field) => certificate[field]);
  for (const field of given) validateUnreservedPath(certificate[field] ?? "", at.child(field));
  if (given.length === 0) {
    at.required("", "specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
  }
}
