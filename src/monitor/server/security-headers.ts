const policy = {
  "default-src": "'none'",
  "script-src": "'self'",
  "style-src": "'self'",
  "img-src": "'self' data:",
  "connect-src": "'self'",
  "base-uri": "'none'",
  "form-action": "'none'",
  "frame-ancestors": "'none'",
};

/**
 * Headers of every response. Names and messages of pods are written by users: if one were ever rendered as markup, the
 * policy still prevents it from loading or running anything.
 */
export const securityHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": policyText(policy),
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
  "cross-origin-resource-policy": "same-origin",
};

/** Policy of the login page, which has a form. */
export const loginPolicy = policyText({ ...policy, "form-action": "'self'" });

function policyText(directives: Readonly<Record<string, string>>): string {
  return Object.entries(directives)
    .map(([name, value]) => `${name} ${value}`)
    .join("; ");
}
