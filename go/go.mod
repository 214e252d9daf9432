module besom

go 1.19
