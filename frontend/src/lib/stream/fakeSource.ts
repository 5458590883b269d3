/** Stands where the browser's own EventSource would; the tests play the server. */
export class FakeSource extends EventTarget {
  static opened: FakeSource[] = []
  onopen: (() => void) | null = null
  onerror: (() => void) | null = null
  closed = false

  constructor(readonly url: string) {
    super()
    FakeSource.opened.push(this)
  }

  close() {
    this.closed = true
  }

  send(event: string, id: string, data: unknown) {
    this.dispatchEvent(new MessageEvent(event, { data: JSON.stringify(data), lastEventId: id }))
  }
}
