import { Button, Group, Stack, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { IconBan, IconRefresh, IconRepeat, type Icon } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { DeliveryDetail, RedeliveryPart, SteeringAction } from '../../../../src/schemas/delivery.ts'
import { steerDelivery } from '../../api/deliveries.ts'
import { CloseButton, Dialog } from '../../shared/dialog.tsx'
import { ErrorNotice } from '../../shared/error-notice.tsx'
import { isOpenStatus } from '../../shared/open-statuses.ts'
import { UnsavedGuard } from '../../shared/unsaved-guard.tsx'
import { useChange } from '../../shared/use-change.ts'
import { RedeliveryChoice, type RepeatableAt } from './redelivery-choice.tsx'
import { steeredTexts, steeringTexts } from './steering-texts.ts'
import { WhyField } from './why-field.tsx'

const icons: Record<SteeringAction, Icon> = { retry: IconRefresh, redeliver: IconRepeat, cancel: IconBan }

/** What can be done with one delivery as it stands; each action asks why. */
export function SteerDelivery({ delivery }: { delivery: DeliveryDetail }) {
  const { id, destinations, erased } = delivery
  const [chosen, setChosen] = useState<SteeringAction>()
  const isOpen = delivery.endedAt === null
  // One that goes on at some destinations can be sent again where it has ended.
  const ended = destinations.filter(({ status }) => !isOpen || !isOpenStatus(status))
  const fitting = fittingActions(isOpen, erased, ended.length > 0)
  const isHeld = isOnlyHeld(delivery)
  return (
    <>
      {isHeld && (
        <Text size="sm" id={whyNot}>
          Its destination is paused: it is sent when that is resumed.
        </Text>
      )}
      {fitting.map((action, index) => {
        const Icon = icons[action]
        return (
          <Button
            key={action}
            variant={index === 0 ? 'filled' : 'default'}
            leftSection={<Icon size={16} aria-hidden />}
            {...(action === 'retry' && isHeld && { disabled: true, 'aria-describedby': whyNot })}
            onClick={() => setChosen(action)}
          >
            {steeringTexts[action].label} …
          </Button>
        )
      })}
      {chosen !== undefined && (
        <SteerDialog
          id={id}
          isErased={erased}
          repeatableAt={{
            destinationIds: ended.map(({ destinationId }) => destinationId),
            areAll: !isOpen,
            isChosenEndpoint: ended.some(({ isChosenEndpoint }) => isChosenEndpoint === true),
          }}
          action={chosen}
          onClose={() => setChosen(undefined)}
        />
      )}
    </>
  )
}

/** Of one that was erased nothing is left to be sent.
 *  @param hasEnded  whether it has ended at some destination */
function fittingActions(isOpen: boolean, isErased: boolean, hasEnded: boolean): SteeringAction[] {
  if (isErased) return isOpen ? ['cancel'] : []
  if (!isOpen) return ['redeliver']
  return hasEnded ? ['retry', 'cancel', 'redeliver'] : ['retry', 'cancel']
}

/** Id of the text that says why there is no retry. */
const whyNot = 'why-no-retry'

/** Whether paused destinations are all that it waits for. */
function isOnlyHeld({ destinations }: DeliveryDetail): boolean {
  const open = destinations.filter(({ status }) => isOpenStatus(status))
  return open.length > 0 && open.every(({ status }) => status === 'held')
}

interface DialogProps {
  id: string
  isErased: boolean
  repeatableAt: RepeatableAt
  action: SteeringAction
  onClose: () => void
}

function SteerDialog({ id, isErased, repeatableAt, action, onClose }: DialogProps) {
  const [only, setOnly] = useState<RedeliveryPart>()
  const [why, setWhy] = useState('')
  const navigate = useNavigate()
  const { label, one, later, confirm = label } = steeringTexts[action]
  const isToChoose = action === 'redeliver' && !repeatableAt.areAll
  const steer = useChange({
    change: () => steerDelivery(id, action, why, only && { only }),
    stale: ['deliveries'],
    onDone: ({ id: newId, became }) => {
      notifications.show({ message: steeredTexts[became ?? 'redelivered'], color: 'teal' })
      onClose()
      if (newId !== undefined) void navigate({ to: '/deliveries/$id', params: { id: newId }, ignoreBlocker: true })
    },
    onFailed: () => {},
  })
  return (
    <Dialog opened onClose={onClose} title={confirm}>
      <UnsavedGuard isDirty={why !== ''} />
      <form
        onSubmit={(event) => {
          event.preventDefault()
          steer.mutate()
        }}
      >
        <Stack>
          <Text size="sm">{isErased || later === undefined ? one : `${one} ${later}`}</Text>
          {action === 'redeliver' && <RedeliveryChoice at={repeatableAt} only={only} onChange={setOnly} />}
          <WhyField value={why} onChange={setWhy} />
          {steer.error !== null && <ErrorNotice error={steer.error} />}
          <Group justify="flex-end">
            <CloseButton />
            <Button type="submit" loading={steer.isPending} disabled={isToChoose && only === undefined}>
              {confirm}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}
