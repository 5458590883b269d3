// @vitest-environment happy-dom
import { MantineProvider } from "@mantine/core"
import { cleanup, render, screen } from "@testing-library/react"
import { useEffect } from "react"
import { afterEach, expect, it, vi } from "vitest"
import { Loaded } from "./Loaded"

const AWAY = new TypeError("Failed to fetch")

afterEach(cleanup)

it("says what went wrong where nothing is known", () => {
  render(<Loaded isLoadingError error={AWAY}>known</Loaded>, { wrapper: MantineProvider })
  expect(screen.queryByText("known")).toBeNull()
  expect(screen.getByText(/The server cannot be reached/)).toBeTruthy()
})

it("keeps what is known, in its place, while it cannot be read again", () => {
  const began = vi.fn()
  function Known() {
    useEffect(began, [])
    return <p>known</p>
  }
  const { rerender } = render(<Loaded isLoadingError={false}><Known /></Loaded>, { wrapper: MantineProvider })
  rerender(<Loaded isLoadingError={false} error={AWAY}><Known /></Loaded>)
  expect(screen.getByText("known")).toBeTruthy()
  expect(screen.getByRole("status").textContent).toBe("Last known state: the server cannot be reached.")
  expect(began).toHaveBeenCalledTimes(1)
})
