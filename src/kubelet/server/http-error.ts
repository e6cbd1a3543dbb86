/** What a request to the kubelet's server is refused with: plain text, as upstream answers. */
export class HttpError extends Error {
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = "HttpError";
    this.code = code;
    this.headers = headers;
  }
}
