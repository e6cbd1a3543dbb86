/** An object that does not fit its schema, so that field ownership cannot be computed. */
export class ApplyError extends Error {
  override readonly name = "ApplyError";
  /** Path of the value, as in `.spec.containers`. */
  path = "";

  /** Runs `visit`, and puts the element before the path of its errors. */
  static inside<Result>(element: string, visit: () => Result): Result {
    try {
      return visit();
    } catch (error) {
      if (error instanceof ApplyError) error.path = element + error.path;
      throw error;
    }
  }
}
