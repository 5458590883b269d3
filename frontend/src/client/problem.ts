import type { components } from "./schema"

export type Fault = components["schemas"]["Fault"]

/** A refusal of the API, as RFC 9457 problem details, or an answer that is not even that (`title` then says so). */
export class Problem extends Error {
  readonly status: number
  readonly title: string
  readonly faults: readonly Fault[]

  constructor(status: number, title: string, detail: string, faults: readonly Fault[] = []) {
    super(detail)
    this.name = "Problem"
    this.status = status
    this.title = title
    this.faults = faults
  }

  static async from(response: Response): Promise<Problem> {
    const text = await response.text()
    try {
      const { title, detail, errors } = JSON.parse(text) as Partial<components["schemas"]["ProblemDetails"]>
      return new Problem(response.status, title ?? response.statusText, detail ?? text, errors)
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      return new Problem(response.status, `The server answered ${response.status}`, "It may be starting or stopping. Try again in a moment.")
    }
  }
}

export function isSignedOut(error: unknown): boolean {
  return error instanceof Problem && error.status === 401
}

/** Nothing has this id, or nothing could have it. */
export function isMissing(error: unknown): boolean {
  return error instanceof Problem && (error.status === 404 || error.status === 422)
}
