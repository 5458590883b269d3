import { Alert, Button, Code, Group, TextInput } from "@mantine/core"
import { IconKey } from "@tabler/icons-react"
import { useState, type SubmitEvent } from "react"
import { CopyIcon } from "@/components/CopyIcon"
import { useCreateToken } from "@/hooks/queries/useTokens"

/** The new token stands here until the page is left: nobody can read it again. */
export function CreateToken() {
  const [name, setName] = useState("")
  const create = useCreateToken()
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    create.mutate(name, { onSuccess: () => setName("") })
  }
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <TextInput
          label="What the new token is for"
          placeholder="ci"
          flex={1}
          miw={180}
          maxLength={100}
          required
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          error={create.error?.message}
        />
        <Button type="submit" loading={create.isPending} disabled={name.trim() === ""}>
          Create
        </Button>
      </Group>
      {create.data && (
        <Alert mt="md" color="teal" variant="light" icon={<IconKey />} title={`The token “${create.data.name}”. Copy it now: it is shown only this once.`}>
          <Group gap="xs" wrap="nowrap">
            <Code style={{ overflowWrap: "anywhere" }} data-testid="new-token">
              {create.data.token}
            </Code>
            <CopyIcon value={create.data.token} what="the token" />
          </Group>
        </Alert>
      )}
    </form>
  )
}
