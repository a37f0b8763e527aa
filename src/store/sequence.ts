/** The inbox's number of an event: rises in the order of arrival. */
export type Sequence = number;
