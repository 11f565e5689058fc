! A loop for each unit, as long as the unit, in chunks of BLOCK units for the threads of a CPU.
! lockstep bench RUN --build 'gfortran -O2 -fopenmp -fno-range-check divergent.f90 -o {binary}' --exec '{binary} {units} {lengthsFile} {blockThreads}'
program divergent
  use iso_fortran_env, only: int32, int64
  implicit none
  integer(int32), allocatable :: lengths(:)
  integer(int64) :: from, to, rate
  integer :: units, block, unit, i, file
  integer(int32) :: x, digest
  character(4096) :: text
  call get_command_argument(1, text); read (text, *) units
  call get_command_argument(3, text); read (text, *) block
  call get_command_argument(2, text)
  allocate (lengths(units))
  open (newunit=file, file=trim(text), access='stream', form='unformatted', status='old')
  read (file) lengths
  digest = 0
  call system_clock(from, rate)
  !$omp parallel do schedule(dynamic, block) private(x, i) reduction(ieor: digest)
  do unit = 1, units
    x = unit
    do i = 1, lengths(unit)
      x = ieor(x, shiftr(x, 15)) * int(z'2c1b3c6d', int32)
    end do
    digest = ieor(digest, x)
  end do
  call system_clock(to)
  print '(a, i0, a)', '{"timeNs": ', (to - from) * (1000000000_int64 / rate), '}'
  print '(a, z8.8, a)', '{"digest": "', digest, '"}'
end program
